import { expect, test } from 'vitest';
import { createSeenSequences } from './seen-sequences.ts';

const cluster = (id: string) => ({ kind: 'cluster', id }) as const;
const asked = (id: string) => ({ ...cluster(id), type: 'requested' });

test('the latest counts, of each aggregate for itself; what is noted late changes nothing', () => {
  const seen = createSeenSequences();
  expect(seen.of(cluster('a'))).toBe(0);
  for (const sequence of [7, 9, 8]) seen.note(asked('a'), sequence);
  seen.note(asked('b'), 3);
  expect([seen.of(cluster('a')), seen.of(cluster('b')), seen.of({ kind: 'name', id: 'a' })]).toEqual([
    9, 3, 0,
  ]);
});

test('it never grows beyond a bound, and forgets what it heard of longest ago', () => {
  const seen = createSeenSequences();
  for (let index = 1; index <= 10_000; index++) {
    seen.note(asked('busy'), index);
    seen.note(asked(`c${index}`), index);
  }
  expect([seen.of(cluster('busy')), seen.of(cluster('c1')), seen.of(cluster('c10000'))]).toEqual([
    10_000, 0, 10_000,
  ]);
});
