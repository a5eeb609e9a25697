import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Command, CommanderError } from 'commander';
import { errorCatalogue } from '@rollcall/shared/errors';
import { expect, test } from 'vitest';
import { commandTree } from './command-tree.ts';

const root = join(import.meta.dirname, '../..');

/** The command line itself, so that what is typed is parsed as it would be, and nothing is done. */
function typed(words: readonly string[]): string | undefined {
  const program = commandTree();
  const quieten = (command: Command): void => {
    command.exitOverride().configureOutput({ writeErr: () => undefined, writeOut: () => undefined });
    if (command.commands.length === 0) command.action(() => undefined);
    command.commands.forEach(quieten);
  };
  quieten(program);
  try {
    program.parse([...words], { from: 'user' });
    return undefined;
  } catch (thrown) {
    if (!(thrown instanceof CommanderError)) throw thrown;
    return thrown.message;
  }
}

/** As a shell takes a line apart; nothing that we print is quoted otherwise. */
const wordsOf = (line: string) =>
  [...line.matchAll(/'[^']*'|[^\s']+/g)].map(([word]) => word.replaceAll("'", ''));

/** Lines to paste stand between backticks. */
function printedIn(text: string): string[] {
  return [...text.matchAll(/`rollcall ([^`\n]+)`/g)].map(([, line = '']) => line);
}

const isComment = (line: string) => /^\s*(\*|\/\/|\/\*)/.test(line);

/** Every line that a file prints: what is in its comments nobody is told. */
function printedBy(path: string): string[] {
  const source = readFileSync(join(root, path), 'utf8')
    .split('\n')
    .filter((line) => !isComment(line))
    .join('\n')
    // What a name is put in for counts as one word; the innermost first: one expression may quote another.
    .replaceAll(/\$\{[^{}]*\}/g, 'X')
    .replaceAll(/\$\{[^{}]*\}/g, 'X');
  const inText = [...source.matchAll(/'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"/g)].map(([text]) => text);
  const inTemplates = [...source.matchAll(/\\`rollcall ([^`\\\n]+)\\`/g)].map(([, line = '']) => line);
  return [...inText.flatMap(printedIn), ...inTemplates];
}

/** Descriptions name commands there, and tell nobody to run one. */
const describing = ['cli/commands/', 'libs/shared/rights/'];

function sourceFiles(): string[] {
  const kinds = ['cli', 'services', 'agent', 'libs'].map((folder) => `${folder}/*.ts`);
  const listed = execFileSync('git', ['ls-files', ...kinds], { cwd: root })
    .toString()
    .split('\n');
  return listed
    .filter((path) => path !== '' && !/\.test\.ts$|\/tests\//.test(path))
    .filter((path) => describing.every((folder) => !path.startsWith(folder)));
}

test.each([
  { line: 'approve', want: "missing required argument 'name|id'" },
  { line: 'approve NAME --frobnicate', want: "unknown option '--frobnicate'" },
  { line: 'token frobnicate', want: "unknown command 'frobnicate'" },
  { line: 'get clusters -o colours', want: "argument 'colours' is invalid" },
  { line: 'backup', want: 'missing required argument' },
])('$line cannot be pasted', ({ line, want }) => {
  expect(typed(wordsOf(line))).toContain(want);
});

test.each(Object.entries(errorCatalogue))(
  'what the hint of %s says to run can be pasted',
  (_code, { hint }) => {
    const wrong = printedIn(hint).map((line) => ({ line, why: typed(wordsOf(line)) }));
    expect(wrong.filter(({ why }) => why !== undefined)).toEqual([]);
  },
);

test('every command line that is printed anywhere can be pasted', () => {
  const printed = sourceFiles().flatMap((path) => printedBy(path).map((line) => ({ path, line })));
  expect(printed.length).toBeGreaterThan(50);
  const wrong = printed.map((one) => ({ ...one, why: typed(wordsOf(one.line)) }));
  expect(wrong.filter(({ why }) => why !== undefined)).toEqual([]);
});
