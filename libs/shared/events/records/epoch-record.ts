import type { AggregateRecord } from './fold-record.ts';
import { restored as restoredEvent, restoreReviewed } from '../types/restore-events.ts';
import type { Restored, RestoreReviewed, SpentNoted } from '../types/restore-events.ts';

/** What is known of the hub's own epochs; its first one has no event. */
export const epochAggregate = { kind: 'hub', id: 'epoch' } as const;

export interface EpochRecord extends AggregateRecord {
  readonly restored: (Restored & { readonly atMs: number }) | undefined;
  /** Whether the approver has looked at what Kubernetes showed of the epoch before. Always in a hub that was never restored. */
  readonly isReviewed: boolean;
  /** What people said in the epoch before and counts no more, as the review found it; what did not fit is in parts. */
  readonly spent: readonly string[];
  readonly spentParts: number;
  /** Where the newest word is of a newer version: its sequence. `restored` and `spent` may be older than they are then. */
  readonly unreadable: number | undefined;
}

/**
 * The casts are sound: decodeEvent has parsed the sections.
 * @param newer - events of it that only a newer version can read: that it was reviewed can be told by their types alone
 */
export function epochRecord(
  record: AggregateRecord,
  newer: readonly { readonly type: string; readonly sequence: number }[] = [],
): EpochRecord {
  const { restore, approver } = record.lastOf;
  const reviewed = approver?.section as RestoreReviewed | undefined;
  const restored = restore && { ...(restore.section as Restored), atMs: restore.timeMs };
  const newestOf = (type: string, readable = 0) =>
    Math.max(readable, ...newer.filter((event) => event.type === type).map(({ sequence }) => sequence));
  const restoredAt = newestOf(restoredEvent.type, restore?.sequence);
  const reviewedAt = newestOf(restoreReviewed.type, approver?.sequence);
  const last = newer.at(-1)?.sequence ?? 0;
  const unreadable = last > Math.max(restore?.sequence ?? 0, approver?.sequence ?? 0) ? last : undefined;
  const isReviewed =
    unreadable === undefined
      ? restored === undefined || reviewed?.epoch === restored.epoch
      : reviewedAt > restoredAt;
  const { spent = [], spentParts = 0 } = (isReviewed && reviewed) || {};
  return { ...record, restored, isReviewed, spent, spentParts, unreadable };
}

/** Where a part of what counts no more stands. */
export const spentAggregate = (part: number) =>
  ({ kind: 'hub', id: `${epochAggregate.id}-spent-${part}` }) as const;

/** @returns undefined where it is not of this life: nobody has written it */
export function spentPart(
  { lastOf }: Pick<AggregateRecord, 'lastOf'>,
  epoch: number,
): readonly string[] | undefined {
  const noted = lastOf.approver?.section as SpentNoted | undefined;
  return noted?.epoch === epoch ? noted.spent : undefined;
}
