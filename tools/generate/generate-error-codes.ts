import { errorCatalogue, type ErrorCode, RollcallError } from '@rollcall/shared/errors';
import { exitCodeOf } from '../../cli/exit-code.ts';
import type { Generated } from './generated-file.ts';

/** A pipe would end the cell of a table. */
const cell = (text: string) => text.replaceAll('|', String.raw`\|`);

/** With which a command ends that fails for this. */
const exitOf = (code: string) => exitCodeOf(new RollcallError(code as ErrorCode, ''));

function rows(): string {
  return Object.entries(errorCatalogue)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(
      ([code, { hint, retry }]) =>
        `| \`${code}\` | ${exitOf(code)} | ${retry ? 'yes' : 'no'} | ${cell(hint)} |`,
    )
    .join('\n');
}

/** Every code that a person can meet, in docs/error-codes.md. */
export function errorCodesDoc(): Generated {
  const text = `# Error codes

This page is made from \`libs/shared/errors/catalogue.ts\` by \`npm run generate\`; a test fails when it is stale.

A command that fails ends with a line \`code: …\`; logs, refusals and answers to agents have the code too. Codes are stable, messages are not.
"Exit" is the exit code of the command: 2 usage, 3 refused, 4 held, 5 unreachable, 6 timed out, 1 anything else.
"Again" says whether the same call can succeed later without anybody changing anything: an agent then keeps trying by itself.
[Troubleshooting](troubleshooting.md) starts from what you see instead.

| code | exit | again | what to do |
| --- | --- | --- | --- |
${rows()}
`;
  return { folder: 'docs', extension: 'error-codes.md', files: new Map([['error-codes.md', text]]) };
}
