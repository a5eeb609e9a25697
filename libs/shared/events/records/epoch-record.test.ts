import { expect, test } from 'vitest';
import type { StoredEvent } from '../envelope.ts';
import { epochAggregate, epochRecord } from './epoch-record.ts';
import { foldRecord } from './fold-record.ts';

const restoredAt = (sequence: number, epoch = 2) =>
  ({
    sequence,
    timeMs: 7,
    section: { epoch, throughSequence: 1, backupTakenAtMs: 1 },
  }) as unknown as StoredEvent;
const reviewedAt = (sequence: number, epoch = 2) =>
  ({ sequence, section: { epoch, takenBack: 0, held: 0, spent: ['w'] } }) as unknown as StoredEvent;

test.each([
  { name: 'a hub in its first epoch', lastOf: {}, newer: [], want: [true, [], undefined] },
  { name: 'restored', lastOf: { restore: restoredAt(5) }, newer: [], want: [false, [], undefined] },
  {
    name: 'reviewed',
    lastOf: { restore: restoredAt(5), approver: reviewedAt(6) },
    newer: [],
    want: [true, ['w'], undefined],
  },
  {
    name: 'restored again',
    lastOf: { restore: restoredAt(9, 3), approver: reviewedAt(6) },
    newer: [],
    want: [false, [], undefined],
  },
  {
    name: 'reviewed by a newer version',
    lastOf: { restore: restoredAt(5) },
    newer: [{ type: 'restore-reviewed', sequence: 6 }],
    want: [true, [], 6],
  },
  {
    name: 'reviewed by a newer version, and restored since',
    lastOf: { restore: restoredAt(7, 3) },
    newer: [{ type: 'restore-reviewed', sequence: 6 }],
    want: [false, [], undefined],
  },
  {
    name: 'restored by a newer version',
    lastOf: { approver: reviewedAt(6) },
    newer: [{ type: 'restored', sequence: 8 }],
    want: [false, [], 8],
  },
  {
    name: 'of a type that nobody here knows',
    lastOf: { restore: restoredAt(5), approver: reviewedAt(6) },
    newer: [{ type: 'mended', sequence: 8 }],
    want: [true, ['w'], 8],
  },
])('$name', ({ lastOf, newer, want }) => {
  const { isReviewed, spent, unreadable } = epochRecord({ ...foldRecord(epochAggregate, []), lastOf }, newer);
  expect([isReviewed, spent, unreadable]).toEqual(want);
});
