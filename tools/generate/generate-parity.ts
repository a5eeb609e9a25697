import { relative } from 'node:path/posix';
import { parityRows, type ParityRow } from '../../tests/parity/rows.ts';
import type { Generated } from './generated-file.ts';
import { parityClaims } from '../parity-claims.mjs';

/** A pipe would end the cell of a table. */
const cell = (text: string) => text.replaceAll('|', String.raw`\|`);

/** Where the page lies; its links are relative to it. */
const folder = 'tests/parity';

const claims = parityClaims();

/** A table of cases fills the title in; what is left of it may say nothing. */
function readable(title: string): string {
  const left = title.replaceAll(/\$[\w.]+|%[a-z]/g, '…');
  return /[a-z]{3}/i.test(left) ? left : 'a table of cases';
}

function shownBy({ id, untested }: ParityRow): string {
  const tests = claims.filter(({ rows }) => rows.includes(id));
  if (tests.length > 0)
    return tests
      .map(({ title, file }) => `${cell(readable(title))} ([test](${relative(folder, file)}))`)
      .join('<br>');
  return untested ?? 'nothing yet';
}

function tableOf(rows: readonly ParityRow[]): string {
  const lines = rows.map((row) => `| ${row.id} | ${cell(row.text)} | ${shownBy(row)} |`);
  return ['| row | what a person has | shown by |', '| --- | --- | --- |', ...lines].join('\n');
}

/** What the tests show of what other systems do at registration, beside the tests that are for nothing else. */
export function parityDoc(): Generated {
  const known = new Set(Object.values(parityRows).flatMap((rows) => rows.map(({ id }) => id)));
  const strange = claims.flatMap(({ rows }) => rows).filter((id) => !known.has(id));
  if (strange.length > 0) throw new Error(`no row of tests/parity/rows.ts: ${strange.join(', ')}`);
  const sections = Object.entries(parityRows).map(([system, rows]) => `## ${system}\n\n${tableOf(rows)}`);
  const text = `# What is shown, row by row

This page is made by \`npm run generate\` from \`rows.ts\` and from the titles of tests; a test fails when it is stale. Each row is something that users of
another system have at registration, or that none of them has. A test whose title ends in the id of a row shows it on real servers, and \`npm test\` fails when one of
these tests did not run or did not pass. How to do it is in [docs/coming-from/](../../docs/coming-from/clusternet.md).

${sections.join('\n\n')}
`;
  return { folder, extension: '.md', files: new Map([['README.md', text]]) };
}
