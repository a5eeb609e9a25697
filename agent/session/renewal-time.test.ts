import fc from 'fast-check';
import { expect, test } from 'vitest';
import { fullJitterMs, spreadMs } from '../hub/back-off.ts';
import { renewalAtMs } from './renewal-time.ts';

const aReply = { nowMs: 1000, repliedAtMs: 500, renewAfterMs: 60_000, expiresAtMs: 100_500, random: 0 };

test.each([
  { name: 'when the hub says', change: {}, want: 61_000 },
  { name: 'a little earlier by chance, never later', change: { random: 1 }, want: 58_000 },
  {
    name: 'at two thirds, where the hub names a time after the end',
    change: { renewAfterMs: 200_000 },
    want: 67_667,
  },
  { name: 'at two thirds, where the hub names no time', change: { renewAfterMs: 0 }, want: 67_667 },
  { name: 'after a second, where the credentials have ended', change: { expiresAtMs: 0 }, want: 2000 },
])('renewal: $name', ({ change, want }) => {
  expect(renewalAtMs({ ...aReply, ...change })).toBe(want);
});

test('a renewal is always before the end, for credentials that live longer than a second', () => {
  const lifeMs = fc.integer({ min: 2000, max: 1e10 });
  const any = fc.record({
    lifeMs,
    renewAfterMs: fc.integer(),
    random: fc.double({ min: 0, max: 1, noNaN: true }),
  });
  fc.assert(
    fc.property(any, ({ lifeMs: life, renewAfterMs, random }) => {
      const at = renewalAtMs({ nowMs: 0, repliedAtMs: 0, renewAfterMs, expiresAtMs: life, random });
      expect(at).toBeGreaterThan(0);
      expect(at).toBeLessThan(life);
    }),
  );
});

test('full jitter doubles its bound up to the longest wait', () => {
  const backOff = { firstMs: 1000, longestMs: 30_000 };
  expect([1, 2, 3, 6, 1000].map((failures) => fullJitterMs(backOff, failures, 1))).toEqual([
    1000, 2000, 4000, 30_000, 30_000,
  ]);
  expect(fullJitterMs(backOff, 5, 0)).toBe(0);
  expect([0, 0.5, 1].map((random) => spreadMs(1000, 0.05, random))).toEqual([950, 1000, 1050]);
});
