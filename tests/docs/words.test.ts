import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isErrorCode } from '@rollcall/shared/errors';
import { expect, test } from 'vitest';
import { documents, readDocument, repository } from './markdown.ts';

/** Variables look like codes. */
const variables = /^(?:ROLLCALL|NATS|NODE|NO|HTTPS?|OTEL)_/;

/** Pages for people who run Rollcall; the reasoning of developers may name codes that are gone. */
const pages = documents().filter(
  (path) => path === 'README.md' || /^docs\/(?:coming-from\/)?[a-z-]+\.md$/.test(path),
);

test.each(pages)('every error code that %s names is in the catalogue', (page) => {
  const named = [...readDocument(page).matchAll(/`([A-Z]+(?:_[A-Z]+)+)`/g)].map(([, word = '']) => word);
  expect(named.filter((word) => !variables.test(word) && !isErrorCode(word))).toEqual([]);
});

/** The words of the first column that `column` takes, of the table under a heading. */
function words(page: string, heading: string, column: number): string[] {
  const [, rest = ''] = readDocument(page).split(`\n## ${heading}\n`);
  const [section = ''] = rest.split('\n## ');
  const rows = section.split('\n').filter((line) => line.startsWith('| '));
  return rows.slice(2).flatMap((row) => (row.split('|')[column] ?? '').trim().split(', '));
}

test('every reason of a refused request stands for a code', () => {
  const reasons = words('docs/troubleshooting.md', 'The agent is refused', 1);
  const asCode = (reason: string) => reason.replaceAll(/(?<=[a-z])(?=[A-Z])/g, '_').toUpperCase();
  expect(reasons.length).toBeGreaterThan(5);
  expect(reasons.filter((reason) => !isErrorCode(asCode(reason)))).toEqual([]);
});

test.each([
  { page: 'docs/concepts.md', heading: 'Alive or not', column: 2 },
  { page: 'docs/troubleshooting.md', heading: 'A cluster is not Ready', column: 1 },
])(
  'every reason of Ready that $page explains is one that the projector gives',
  ({ page, heading, column }) => {
    const source = readFileSync(
      join(repository, 'services/projector/desired/conditions/ready-condition.ts'),
      'utf8',
    );
    const reasons = words(page, heading, column);
    expect(reasons.length).toBeGreaterThan(5);
    expect(reasons.filter((reason) => !source.includes(`'${reason}'`))).toEqual([]);
  },
);
