import { expect, test } from 'vitest';
import { boundedInterval } from './heartbeater.ts';

test.each([
  { said: 15_000, intervalMs: 15_000 },
  { said: 1, intervalMs: 1000 },
  { said: 1e12, intervalMs: 7_200_000 },
])('an interval of $said ms is taken within what makes sense', ({ said, intervalMs }) => {
  expect(boundedInterval(said)).toBe(intervalMs);
});

test.each([undefined, null, 'soon', {}, Number.NaN])(
  'an interval that is none (%j) has no heartbeats sent without a pause',
  (said) => {
    expect(boundedInterval(said as number)).toBeGreaterThanOrEqual(1000);
  },
);
