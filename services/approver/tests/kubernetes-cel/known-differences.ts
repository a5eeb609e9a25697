import type { Row } from './rows.ts';

/** Rows that we know to answer otherwise than an API server; docs/policy-guide.md has the same ones, with why. */
export const knownDifferences: readonly (Row | string)[] = [
  'cel.bind(x, 5, x * x)',
  'b"a".hex()',
  '[1, ?optional.none()]',
  '{?"a": optional.of(1)}',
  '.object.data.value',
  '.5',
  'has([{"a": 1}][0].a)',
  'type(optional.of(1))',
  '[].flatten()',
  '[null].min()',
  'object.data.value.matches(1)',
  '{1: "x"}.map(k, k)',
  '"%s".format([{1: "a", true: "b"}])',
  '{"constructor": 1}.constructor',
  '"\\uffff" < "😀"',
  'dyn(3u) in dyn([1, 2, 3])',
  '-(-9223372036854775808)',
  '-9223372036854775808 / -1',
  'string(timestamp("2009-02-13T23:31:30+02:00"))',
  { expression: 'timestamp($)', value: '2026-11-21T12:00:00+01:00' },
  'timestamp("2026-11-21T12:00:00.000000001Z") == timestamp("2026-11-21T12:00:00Z")',
  'timestamp("9999-12-31T23:59:59Z") + duration("1s")',
];

/** A row as the guide writes it: with its value in place of `$`. */
export function written(row: Row | string): string {
  if (typeof row === 'string') return row;
  return row.expression.includes('$')
    ? row.expression.replaceAll(/\$(?=[.,)\]])/g, JSON.stringify(row.value))
    : row.expression;
}
