import { expect, test } from 'vitest';
import { mostRevocations, revocationList, sameRevocations } from './revocation-list.ts';

const nowMs = 1_000_000_000;
const longestLifeMs = 3_600_000;
const at = (key: string, atMs: number) => ({ revokedKeys: [{ key, atMs }] });

test.each([
  { name: 'nothing taken back', decisions: [], want: {} },
  { name: 'approved again', decisions: [{ revokedKeys: [] }], want: {} },
  {
    name: 'the same second is refused, and a little after',
    decisions: [at('K', nowMs + 999)],
    want: { K: 1_000_005 },
  },
  {
    name: 'exactly as old as a credential can be',
    decisions: [at('K', nowMs - longestLifeMs)],
    want: { K: 996_405 },
  },
  { name: 'older than any credential', decisions: [at('K', nowMs - longestLifeMs - 1)], want: {} },
  {
    name: 'one key in two clusters',
    decisions: [at('K', nowMs), at('K', nowMs - 5000)],
    want: { K: 1_000_005 },
  },
  {
    name: 'in the order of the keys',
    decisions: [at('B', nowMs), at('A', nowMs)],
    want: { A: 1_000_005, B: 1_000_005 },
  },
])('$name', ({ decisions, want }) => {
  const { revocations } = revocationList(decisions, { nowMs, longestLifeMs });
  expect(JSON.stringify(revocations)).toBe(JSON.stringify(want));
});

test('what does not fit is the oldest', () => {
  const decisions = Array.from({ length: mostRevocations + 2 }, (_, index) => at(`K${index}`, nowMs - index));
  const { revocations, dropped } = revocationList(decisions, { nowMs, longestLifeMs });
  expect(dropped).toBe(2);
  expect(Object.keys(revocations)).toHaveLength(mostRevocations);
  expect(revocations[`K${mostRevocations}`]).toBeUndefined();
});

test.each([
  { a: { K: 1 }, b: { K: 1 }, same: true },
  { a: { K: 1 }, b: { K: 2 }, same: false },
  { a: { K: 1 }, b: {}, same: false },
  { a: {}, b: { K: 1 }, same: false },
])('$a and $b are the same: $same', ({ a, b, same }) => {
  expect(sameRevocations(a, b)).toBe(same);
});
