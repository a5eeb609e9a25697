import { expect, test } from 'vitest';
import { filesToRunAgain, withSecondRun } from './second-run.mjs';

const file = (name: string, status: string) => ({ name, status, assertionResults: [{ status }] });
const run = (
  results: readonly (readonly [string, string])[],
  unhandled: readonly (string | null)[] = [],
) => ({
  report: { testResults: results.map(([name, status]) => file(name, status)) },
  unhandled,
  exitCode: unhandled.length > 0 || results.some(([, status]) => status === 'failed') ? 1 : 0,
});

test('what failed runs again, and where an error was thrown outside of every test', () => {
  const first = run(
    [
      ['a', 'passed'],
      ['b', 'failed'],
      ['c', 'passed'],
    ],
    ['c'],
  );
  expect(filesToRunAgain(first)).toEqual(['b', 'c']);
});

test.each([
  { name: 'all passed', first: run([['a', 'passed']]) },
  { name: 'an error of no file', first: run([['a', 'failed']], [null]) },
  { name: 'too many', first: run(['a', 'b', 'c', 'd', 'e', 'f'].map((name) => [name, 'failed'] as const)) },
  { name: 'no report', first: { report: undefined, unhandled: [], exitCode: 1 } },
])('nothing runs again: $name', ({ first }) => {
  expect(filesToRunAgain(first)).toEqual([]);
});

test('a file that passes by itself counts as passed, and is told', () => {
  const first = run([
    ['a', 'passed'],
    ['b', 'failed'],
  ]);
  const both = withSecondRun(first, run([['b', 'passed']]));
  expect(both).toEqual({
    run: run([
      ['a', 'passed'],
      ['b', 'passed'],
    ]),
    unsteady: ['b'],
  });
});

test('a file that fails again has failed', () => {
  const first = run(
    [
      ['a', 'passed'],
      ['b', 'failed'],
      ['c', 'passed'],
    ],
    ['c'],
  );
  const both = withSecondRun(
    first,
    run(
      [
        ['b', 'failed'],
        ['c', 'passed'],
      ],
      ['c'],
    ),
  );
  expect(both.unsteady).toEqual([]);
  expect(both.run.exitCode).toBe(1);
  expect(both.run.report?.testResults.map(({ status }) => status)).toEqual(['passed', 'failed', 'passed']);
});

test('a file that is not in the second report has failed', () => {
  const { run: both, unsteady } = withSecondRun(run([['b', 'failed']]), {
    report: undefined,
    unhandled: [],
    exitCode: 1,
  });
  expect(unsteady).toEqual([]);
  expect(both.report?.testResults).toMatchObject([{ name: 'b', status: 'failed' }]);
});
