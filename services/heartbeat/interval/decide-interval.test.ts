import { type AggregateRecord, foldRecord, type IntervalChanged } from '@rollcall/shared/events';
import { expect, test } from 'vitest';
import { decideInterval, learntAfterMs, intervalInForce, wantedMultiplier } from './decide-interval.ts';

const aFinding = (nominalPerSecond: number, clusters = 10) => ({
  clusters,
  nominalPerSecond,
  ceilingPerSecond: 1000,
  returnsPerSecond: 500,
  nowMs: 1000,
});
const aRecord = (section?: Partial<IntervalChanged>): AggregateRecord => ({
  ...foldRecord({ kind: 'hub', id: 'interval' }, []),
  lastOf: section ? ({ heartbeat: { section } } as AggregateRecord['lastOf']) : {},
});

test.each([
  { name: 'a small fleet', current: 1, nominal: 10, want: 1 },
  { name: 'exactly at the ceiling', current: 1, nominal: 1000, want: 1 },
  { name: 'just past it', current: 1, nominal: 1001, want: 1.25 },
  { name: 'four times', current: 1, nominal: 4000, want: 4 },
  { name: 'a little less than it was multiplied for', current: 4, nominal: 3000, want: 4 },
  { name: 'much less', current: 4, nominal: 2700, want: 2.75 },
  { name: 'small again', current: 4, nominal: 10, want: 1 },
  { name: 'small again, and was just past the ceiling', current: 1.25, nominal: 10, want: 1 },
  { name: 'a little below the ceiling again', current: 1.25, nominal: 875, want: 1.25 },
  { name: 'nobody there', current: 1, nominal: 0, want: 1 },
])('$name: $current → $want', ({ current, nominal, want }) => {
  expect(wantedMultiplier(current, aFinding(nominal))).toBe(want);
  // It comes to rest at once.
  expect(wantedMultiplier(want, aFinding(nominal))).toBe(want);
});

test('it is written once, with the numbers', () => {
  const [event] = decideInterval(aRecord(), aFinding(2000));
  expect(event).toMatchObject({
    reason: 'IntervalsLengthened',
    section: { multiplier: 2, before: 1, nominalPerSecond: 2000, ceilingPerSecond: 1000 },
  });
  expect(decideInterval(aRecord({ multiplier: 2 }), aFinding(2000))).toEqual([]);
  expect(decideInterval(aRecord(), aFinding(10))).toEqual([]);
});

test('a shorter interval counts once every agent has heard of it, a longer one at once', () => {
  const multiplierInForce = (record: AggregateRecord, nowMs: number) =>
    intervalInForce(record, nowMs).multiplier;
  const shorter = aRecord({ multiplier: 1, before: 3, sinceMs: 1000 });
  expect(multiplierInForce(shorter, 1000 + learntAfterMs - 1)).toBe(3);
  expect(multiplierInForce(shorter, 1000 + learntAfterMs)).toBe(1);
  expect(multiplierInForce(aRecord({ multiplier: 3, before: 1, sinceMs: 1000 }), 1000)).toBe(3);
  expect(multiplierInForce(aRecord(), 1000)).toBe(1);
  const byClockAhead = aRecord({ multiplier: 1, before: 3, sinceMs: 365 * 86_400_000 });
  expect(multiplierInForce(byClockAhead, 1000)).toBe(1);
});

test('a fleet that has grown is told to take longer to come back, and a small one nothing', () => {
  expect(decideInterval(aRecord(), aFinding(10, 833))).toEqual([]);
  const [event] = decideInterval(aRecord(), aFinding(10, 4000));
  expect(event).toMatchObject({
    reason: 'ReturnSpread',
    section: { multiplier: 1, before: 1, clusters: 4000, returnWithinMs: 20_000, returnBeforeMs: 0 },
  });
  expect(decideInterval(aRecord({ multiplier: 1, returnWithinMs: 20_000 }), aFinding(10, 4000))).toEqual([]);
});

test('what is said of one of the two keeps what is in force of the other', () => {
  const multiplied = aRecord({ multiplier: 1, before: 4, sinceMs: 0, returnWithinMs: 20_000 });
  expect(decideInterval(multiplied, aFinding(10, 10_000))[0]).toMatchObject({
    section: { multiplier: 1, before: 4, returnWithinMs: 40_000, returnBeforeMs: 20_000 },
  });
});

test('a fleet that has shrunk may take as long as before until every agent has heard', () => {
  const shrunk = aRecord({
    multiplier: 1,
    before: 1,
    sinceMs: 1000,
    returnWithinMs: 10_000,
    returnBeforeMs: 80_000,
  });
  expect(intervalInForce(shrunk, 1000 + learntAfterMs - 1).returnWithinMs).toBe(80_000);
  expect(intervalInForce(shrunk, 1000 + learntAfterMs).returnWithinMs).toBe(10_000);
});
