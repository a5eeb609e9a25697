import fc from 'fast-check';
import { expect, test } from 'vitest';
import { complete, groupedBy, sortedBy, type Steps } from './work-in-steps.ts';

const rowsOf = (keys: readonly number[]) => keys.map((key, place) => ({ key, place }));
const byKey = (one: { key: number }, other: { key: number }) => one.key - other.key;
const many = fc.array(fc.nat(20), { maxLength: 9000, size: 'max' }).map(rowsOf);

test('sorted in steps is sorted, and what is the same to the order stays as it was', () => {
  fc.assert(
    fc.property(many, (rows) => {
      expect(complete(sortedBy(rows, byKey))).toEqual(rows.toSorted(byKey));
    }),
    { numRuns: 20 },
  );
});

test('grouped in steps is grouped', () => {
  const keyOf = ({ key }: { key: number }) => String(key);
  fc.assert(
    fc.property(many, (rows) => {
      expect([...complete(groupedBy(rows, keyOf))]).toEqual([...Map.groupBy(rows, keyOf)]);
    }),
    { numRuns: 20 },
  );
});

test('no step is long: of many rows there are many steps', () => {
  const count = (steps: Steps<unknown>) => {
    let taken = 0;
    while (!steps.next().done) taken++;
    return taken;
  };
  const rows = rowsOf(Array.from({ length: 100_000 }, (_, index) => (index * 7919) % 100_003));
  expect(count(sortedBy(rows, byKey))).toBeGreaterThan(300);
  expect(count(groupedBy(rows, ({ key }) => String(key % 20)))).toBe(50);
});
