import { expect, test } from 'vitest';
import { aDecision } from '../../../../tests/harness/events.ts';
import type { StoredEvent } from '../envelope.ts';
import { isDecidedSince } from './decided-since.ts';

const [nowMs, yearMs] = [1_000_000, 365 * 86_400_000];
const at = (sequence: number) => ({ epoch: 1, sequence }) as StoredEvent;

test.each([
  { name: 'decided before', decidedAtMs: 10, toldAtMs: 20, order: [2, 1], want: false },
  { name: 'decided since, and carried on', decidedAtMs: 20, toldAtMs: 10, order: [2, 3], want: true },
  { name: 'decided before by a clock ahead', decidedAtMs: yearMs, toldAtMs: 20, order: [1, 2], want: false },
  { name: 'decided since by a clock ahead', decidedAtMs: yearMs, toldAtMs: 20, order: [2, 1], want: true },
  {
    name: 'told by a clock ahead, not decided',
    decidedAtMs: 20,
    toldAtMs: yearMs,
    order: [1, 2],
    want: false,
  },
  {
    name: 'told by a clock ahead, and decided',
    decidedAtMs: 20,
    toldAtMs: yearMs,
    order: [2, 1],
    want: true,
  },
] as const)('$name: $want', ({ decidedAtMs, toldAtMs, order: [approver, heartbeat], want }) => {
  const decision = aDecision({ decidedAtMs });
  const record = { decision, lastOf: { approver: at(approver), heartbeat: at(heartbeat) } };
  expect(isDecidedSince(record, { atMs: toldAtMs, by: 'heartbeat' }, nowMs)).toBe(want);
});
