import type { AggregateRecord } from './record.ts';
import type { Restored, RestoreReviewed } from './restore-events.ts';

/** What is known of the hub's own lives; its first one has no event. */
export const epochAggregate = { kind: 'hub', id: 'epoch' } as const;

export interface EpochRecord extends AggregateRecord {
  readonly restored: (Restored & { readonly atMs: number }) | undefined;
  /** Whether the approver has looked at what Kubernetes showed of the life before. Always in a hub that was never restored. */
  readonly isReviewed: boolean;
}

/** The casts are sound: decodeEvent has parsed the sections. */
export function epochRecord(record: AggregateRecord): EpochRecord {
  const { restore, approver } = record.lastOf;
  const reviewed = approver?.section as RestoreReviewed | undefined;
  const restored = restore && { ...(restore.section as Restored), atMs: restore.timeMs };
  return { ...record, restored, isReviewed: restored === undefined || reviewed?.epoch === restored.epoch };
}
