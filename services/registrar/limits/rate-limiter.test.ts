import { expect, test } from 'vitest';
import { createRateLimiter } from './rate-limiter.ts';

test('a bucket gives its burst, then as much as its rate, and never more than its burst', () => {
  const buckets = createRateLimiter({ burst: 2, perSecond: 1 }, 10);
  expect([0, 0, 0].map((nowMs) => buckets.take('a', nowMs))).toEqual([true, true, false]);
  expect(buckets.take('a', 999)).toBe(false);
  expect(buckets.take('a', 2000)).toBe(true);
  expect([60_000, 60_000, 60_000].map((nowMs) => buckets.take('a', nowMs))).toEqual([true, true, false]);
});

test('one key takes nothing from another', () => {
  const buckets = createRateLimiter({ burst: 1, perSecond: 1 }, 10);
  expect(buckets.take('a', 0)).toBe(true);
  expect(buckets.take('a', 0)).toBe(false);
  expect(buckets.take('b', 0)).toBe(true);
});

test('a clock that goes back takes nothing away', () => {
  const buckets = createRateLimiter({ burst: 1, perSecond: 1 }, 10);
  expect(buckets.take('a', 5000)).toBe(true);
  expect(buckets.take('a', 0)).toBe(false);
  expect(buckets.take('a', 1000)).toBe(true);
  expect(buckets.take('b', 5000)).toBe(true);
  // Only looked at, it is filled from then on, too.
  expect([0, 1000].map((nowMs) => buckets.left('b', nowMs))).toEqual([0, 1]);
});

test('any number of keys takes a bounded memory', () => {
  const buckets = createRateLimiter({ burst: 1, perSecond: 1 }, 100);
  for (let at = 0; at < 10_000; at++) buckets.take(`key-${at}`, 0);
  expect(buckets.size()).toBe(100);
});
