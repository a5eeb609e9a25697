import { expect, test } from 'vitest';
import { countTests, failedTests } from './count-tests.mjs';

const file = (status: string, ...statuses: string[]) => ({
  name: 'a.test.ts',
  status,
  assertionResults: statuses.map((each) => ({ status: each })),
});

test.each([
  {
    name: 'all well',
    files: [file('passed', 'passed', 'passed')],
    exitCode: 0,
    want: { passed: 2, failed: 0 },
  },
  {
    name: 'skipped tests are not counted',
    files: [file('passed', 'passed', 'skipped')],
    exitCode: 0,
    want: { passed: 1, failed: 0 },
  },
  {
    name: 'a failed test is counted once',
    files: [file('failed', 'passed', 'failed')],
    exitCode: 1,
    want: { passed: 1, failed: 1 },
  },
  {
    name: 'a file that cannot be loaded',
    files: [file('passed', 'passed'), file('failed')],
    exitCode: 1,
    want: { passed: 1, failed: 1 },
  },
  {
    name: 'an error outside of every test',
    files: [file('passed', 'passed')],
    exitCode: 1,
    want: { passed: 1, failed: 1 },
  },
  { name: 'no test ran', files: [], exitCode: 0, want: { passed: 0, failed: 1 } },
])('countTests: $name', ({ files, exitCode, want }) => {
  expect(countTests({ testResults: files }, exitCode)).toEqual(want);
});

test('countTests: a runner that wrote no report is one failure', () => {
  expect(countTests(undefined, 1)).toEqual({ passed: 0, failed: 1 });
});

test('what failed is named with its file and why, a file that cannot be loaded by itself', () => {
  const result = {
    status: 'failed',
    ancestorTitles: ['a join'],
    title: 'is refused',
    failureMessages: ['Error: no\n  at a line'],
  };
  const files = [
    file('passed', 'passed'),
    { ...file('failed', 'passed'), assertionResults: [result] },
    { ...file('failed'), name: 'b.test.ts' },
  ];
  expect(failedTests({ testResults: files }, (name) => `tests/${name}`)).toEqual([
    'tests/a.test.ts > a join > is refused: Error: no',
    'tests/b.test.ts',
  ]);
});
