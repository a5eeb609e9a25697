import { expect, test } from 'vitest';
import type { Liveness } from '@rollcall/shared/events';
import { decideFlood, sayAgainAfterMs } from './heartbeat-flood-event.ts';
import { membershipOf } from '../members/membership.ts';
import { aMember, liveness } from '../tests/builders.ts';

const finding = { clusterId: 'c1', heartbeats: 50_000, seconds: 10, nowMs: 1_000_000 };

const yearMs = 365 * 86_400_000;
const earlierBy = (ms: number) => ({ flood: { atMs: finding.nowMs - ms, heartbeats: 1, seconds: 1 } });

test.each([
  { name: 'a member that never joined', was: undefined, want: 1 },
  { name: 'a first flood', was: {}, want: 1 },
  { name: 'a flood that goes on', was: earlierBy(sayAgainAfterMs - 1), want: 0 },
  { name: 'a flood after ten minutes', was: earlierBy(sayAgainAfterMs), want: 1 },
  { name: 'one that a clock told that was a year ahead', was: earlierBy(-yearMs), want: 1 },
])('$name: $want event(s)', ({ was, want }) => {
  expect(decideFlood(aMember(was), finding)).toHaveLength(want);
});

test('one that was let in again since the last flood, and floods again, is told at once', () => {
  const record = aMember(earlierBy(1000));
  const decided = { ...record, decision: { ...record.decision!, decidedAtMs: finding.nowMs - 500 } };
  expect(decideFlood(decided, finding)).toHaveLength(1);
});

test('one that was let in before, by a clock that was a year ahead, is told once', () => {
  const record = aMember(earlierBy(1000));
  const decided = { ...record, decision: { ...record.decision!, decidedAtMs: finding.nowMs + yearMs } };
  expect(decideFlood(decided, finding)).toEqual([]);
});

test('the event has the numbers, and leaves the liveness as it was', () => {
  const [flood] = decideFlood(aMember({ state: 'suspect' }), finding);
  expect(flood).toMatchObject({
    definition: { type: 'flooding' },
    reason: 'Flooding',
    message: '50000 heartbeats in 10.0 s, 5000 a second',
    section: { ...liveness, state: 'suspect', flood: { heartbeats: 50_000, seconds: 10 } },
  });
});

test('who never sent a heartbeat and floods is told as everybody is, once, and has not joined by it', () => {
  const silent = aMember(undefined);
  const [flood] = decideFlood(silent, finding);
  const section = flood?.section as Liveness;
  const told = { ...silent, liveness: section };
  expect(membershipOf(told)).toEqual(membershipOf(silent));
  expect(decideFlood(told, { ...finding, nowMs: finding.nowMs + sayAgainAfterMs - 1 })).toEqual([]);
  expect(decideFlood(told, { ...finding, nowMs: finding.nowMs + sayAgainAfterMs })).toHaveLength(1);
});

test('who is no member is not told', () => {
  expect(decideFlood(aMember({}, 'denied'), finding)).toEqual([]);
});
