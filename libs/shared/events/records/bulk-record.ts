import type { BulkChanges } from '../types/approver-events.ts';
import type { AggregateRecord } from './fold-record.ts';

/** Operations that put members out. One aggregate for the whole hub, so that all replicas count together. */
export const bulkAggregate = { kind: 'hub', id: 'bulk' } as const;

/** A confirmed operation that is not acted on by then was taken back, and a later one in the same words is another one. */
export const bulkConfirmedForMs = 600_000;

/** The cast is sound: decodeEvent has parsed the section. */
export function bulkOf({ lastOf }: Pick<AggregateRecord, 'lastOf'>): BulkChanges {
  return (lastOf.approver?.section as BulkChanges | undefined) ?? { recent: [] };
}
