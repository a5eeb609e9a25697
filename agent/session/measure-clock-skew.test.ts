import { expect, test } from 'vitest';
import { clockAhead, clockFact } from './measure-clock-skew.ts';

test.each([
  {
    name: 'the time of the hub is between ask and answer',
    signedAtMs: 100,
    atHubMs: 150,
    nowMs: 9000,
    want: 0,
  },
  { name: 'the same at the ends', signedAtMs: 100, atHubMs: 100, nowMs: 100, want: 0 },
  { name: 'an hour ahead', signedAtMs: 3_600_100, atHubMs: 100, nowMs: 3_600_120, want: 3_600_000 },
  { name: 'an hour behind', signedAtMs: 100, atHubMs: 3_600_120, nowMs: 120, want: -3_600_000 },
])('$name → $want ms', ({ want, ...times }) => {
  expect(clockAhead(times)).toBe(want);
});

test.each([
  { aheadMs: 4999, want: {} },
  { aheadMs: -4999, want: {} },
  { aheadMs: 5000, want: { clockAheadSeconds: 5 } },
  { aheadMs: -64_999, want: { clockAheadSeconds: -60 } },
])('$aheadMs ms is told as $want', ({ aheadMs, want }) => {
  expect(clockFact(aheadMs)).toEqual(want);
});
