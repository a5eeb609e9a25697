import { expect, test } from 'vitest';
import { createTemporaryBlocklist } from './temporary-blocklist.ts';

test('ten seconds at first, twice as long each time that it begins again, never more than a minute', () => {
  const blocklist = createTemporaryBlocklist(10);
  let nowMs = 0;
  const terms: number[] = [];
  for (let time = 0; time < 5; time++) {
    blocklist.put('K', nowMs);
    const fromMs = nowMs;
    while (blocklist.has('K', nowMs)) nowMs += 1000;
    terms.push((nowMs - fromMs) / 1000);
  }
  expect(terms).toEqual([10, 20, 40, 60, 60]);
});

test('the same flood told twice makes it no longer', () => {
  const blocklist = createTemporaryBlocklist(10);
  blocklist.put('K', 0);
  blocklist.put('K', 9999);
  expect(blocklist.has('K', 10_000)).toBe(false);
});

test('after ten quiet minutes it begins anew, and nobody else is concerned', () => {
  const blocklist = createTemporaryBlocklist(10);
  blocklist.put('K', 0);
  blocklist.put('K', 610_000);
  expect(blocklist.has('K', 619_999)).toBe(true);
  expect(blocklist.has('K', 620_000)).toBe(false);
  expect(blocklist.has('other', 1)).toBe(false);
});

test('more than it remembers push out the oldest', () => {
  const blocklist = createTemporaryBlocklist(2);
  for (const name of ['one', 'two', 'three']) blocklist.put(name, 0);
  expect(['one', 'two', 'three'].map((name) => blocklist.has(name, 1))).toEqual([false, true, true]);
});
