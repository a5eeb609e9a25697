import { aDecision } from '../../../tests/harness/events.ts';
import { expect, test } from 'vitest';
import { beatIntervalOf } from './beat-interval.ts';

const decision = aDecision({ heartbeat: { intervalSeconds: 15, graceSeconds: 45 } });

test.each([
  { name: 'as it is set', decision, stretch: 1, want: 15_000 },
  { name: 'stretched', decision, stretch: 1.25, want: 18_750 },
  { name: 'of one that nobody has decided about', decision: undefined, stretch: 2, want: 40_000 },
])('the interval $name: $want ms', ({ decision: of, stretch, want }) => {
  expect(beatIntervalOf({ decision: of }, { beatIntervalMs: 20_000, beatStretch: () => stretch })).toBe(want);
});
