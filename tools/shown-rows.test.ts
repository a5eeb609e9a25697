import { expect, test } from 'vitest';
import { claimsIn, rowsNotShown } from './shown-rows.mjs';

const source = `
test('the agent asks by itself [CN-1]', async () => {});
test("it's there, and kubectl waits [OC-4, KA-3]", async () => {});
test.each([{ name: 'an option [X]' }])('$name, over %s [FL-8]', async () => {});
test('in brackets of their own [KA-1] [FL-5]', async () => {});
test('of no row', async () => {});
test('brackets [CN-1] in the middle', async () => {});
test('of no system [ZZ-1]', async () => {});
`;

test('a title that ends in ids claims these rows', () => {
  expect(claimsIn('a.test.ts', source)).toEqual([
    { rows: ['CN-1'], title: 'the agent asks by itself', ending: '[CN-1]', file: 'a.test.ts' },
    {
      rows: ['OC-4', 'KA-3'],
      title: "it's there, and kubectl waits",
      ending: '[OC-4, KA-3]',
      file: 'a.test.ts',
    },
    { rows: ['FL-8'], title: '$name, over %s', ending: '[FL-8]', file: 'a.test.ts' },
    {
      rows: ['KA-1', 'FL-5'],
      title: 'in brackets of their own',
      ending: '[KA-1] [FL-5]',
      file: 'a.test.ts',
    },
  ]);
});

const ran = (...tests: [title: string, status: string][]) => ({
  testResults: [
    {
      name: '/clone/a.test.ts',
      status: 'passed',
      assertionResults: tests.map(([title, status]) => ({ title, status })),
    },
  ],
});
const all: [string, string][] = [
  ['the agent asks by itself [CN-1]', 'passed'],
  ["it's there, and kubectl waits [OC-4, KA-3]", 'passed'],
  ['a ttl of 0 (none), over TLS [FL-8]', 'passed'],
  ['a ttl of 1h, over TLS [FL-8]', 'passed'],
  ['in brackets of their own [KA-1] [FL-5]', 'passed'],
];
test('a group of tests shows a row when all of its tests passed', () => {
  const claims = claimsIn('a.test.ts', "describe('a changed hub [RO-5]', () => {});");
  const linesOf = (status: string) => {
    const assertionResults = [
      { title: 'one', ancestorTitles: ['a changed hub [RO-5]'], status: 'passed' },
      { title: 'two', ancestorTitles: ['a changed hub [RO-5]'], status },
    ];
    const testResults = [{ name: 'a.test.ts', status, assertionResults }];
    return rowsNotShown(claims, { testResults }, (path) => path);
  };
  expect([linesOf('passed').length, linesOf('failed').length]).toEqual([0, 1]);
});

const replaced = (index: number, status: string) =>
  all.map(([title, before], at): [string, string] => [title, at === index ? status : before]);

test.each([
  { name: 'all passed', report: ran(...all), want: [] },
  { name: 'one failed', report: ran(...replaced(0, 'failed')), want: [/^CN-1 .* failed$/] },
  {
    name: 'one was skipped',
    report: ran(...replaced(1, 'skipped')),
    want: [/^OC-4 .* did not run$/, /^KA-3 .* did not run$/],
  },
  { name: 'one of a table failed', report: ran(...replaced(3, 'failed')), want: [/^FL-8 .* failed$/] },
  { name: 'one is not there', report: ran(...all.slice(1)), want: [/^CN-1 .* did not run$/] },
  {
    name: 'the runner wrote no report',
    report: undefined,
    want: [/^CN-1/, /^OC-4/, /^KA-3/, /^FL-8/, /^KA-1/, /^FL-5/],
  },
])('rowsNotShown: $name', ({ report, want }) => {
  const lines = rowsNotShown(claimsIn('a.test.ts', source), report, (path) => path.replace('/clone/', ''));
  expect(lines).toEqual(want.map((line) => expect.stringMatching(line)));
});
