import type { AggregateRecord } from './record.ts';
import type { Restored, RestoreReviewed } from '../types/restore-events.ts';

/** What is known of the hub's own lives; its first one has no event. */
export const epochAggregate = { kind: 'hub', id: 'epoch' } as const;

export interface EpochRecord extends AggregateRecord {
  readonly restored: (Restored & { readonly atMs: number }) | undefined;
  /** Whether the approver has looked at what Kubernetes showed of the life before. Always in a hub that was never restored. */
  readonly isReviewed: boolean;
  /** What people said in the life before and counts no more, as the review found it. */
  readonly spent: readonly string[];
}

/** The casts are sound: decodeEvent has parsed the sections. */
export function epochRecord(record: AggregateRecord): EpochRecord {
  const { restore, approver } = record.lastOf;
  const reviewed = approver?.section as RestoreReviewed | undefined;
  const restored = restore && { ...(restore.section as Restored), atMs: restore.timeMs };
  const isReviewed = restored === undefined || reviewed?.epoch === restored.epoch;
  return { ...record, restored, isReviewed, spent: (isReviewed && reviewed?.spent) || [] };
}
