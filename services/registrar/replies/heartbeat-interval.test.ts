import { aDecision } from '../../../tests/harness/events.ts';
import { expect, test } from 'vitest';
import { heartbeatIntervalOf } from './heartbeat-interval.ts';

const decision = aDecision({ heartbeat: { intervalSeconds: 15, graceSeconds: 45 } });

test.each([
  { name: 'as it is set', decision, multiplier: 1, want: 15_000 },
  { name: 'multiplied', decision, multiplier: 1.25, want: 18_750 },
  { name: 'of one that nobody has decided about', decision: undefined, multiplier: 2, want: 40_000 },
])('the interval $name: $want ms', ({ decision: of, multiplier, want }) => {
  expect(
    heartbeatIntervalOf(
      { decision: of },
      { heartbeatIntervalMs: 20_000, intervalMultiplier: () => multiplier },
    ),
  ).toBe(want);
});
