import { expect, test } from 'vitest';
import { sequenceSince } from './fleet-sample.ts';

const nowMs = 10_000_000;
const lastSequence = 100_000;

test.each([
  { fleet: 'at rest', perMinute: 0, lastJoin: 1, want: 95_000 },
  { fleet: 'with few joins', perMinute: 4000, lastJoin: lastSequence, want: 95_000 },
  { fleet: 'that is coming in', perMinute: 25_000, lastJoin: lastSequence, want: 60_000 },
  {
    fleet: 'that has been there for less than a minute',
    perMinute: 200_000,
    lastJoin: lastSequence,
    want: 1,
  },
])('of a fleet $fleet the joins of the last minute are found', async ({ perMinute, lastJoin, want }) => {
  const timeOf = (sequence: number) => nowMs - ((lastSequence - sequence) / perMinute) * 60_000;
  const firstMsFrom = async (from: number) => (from > lastJoin ? undefined : timeOf(from));
  expect(await sequenceSince(nowMs - 60_000, lastSequence, firstMsFrom)).toBe(want);
});
