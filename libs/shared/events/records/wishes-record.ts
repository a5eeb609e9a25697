import type { Wishes } from '../types/approver-events.ts';
import type { AggregateRecord } from './record.ts';

/** Wishes that put members out. One aggregate for the whole hub, so that all replicas count together. */
export const wishesAggregate = { kind: 'hub', id: 'wishes' } as const;

/** A confirmed wish that is not acted on by then was taken back, and a later one in the same words is another one. */
export const wishConfirmedForMs = 600_000;

/** The cast is sound: decodeEvent has parsed the section. */
export function wishesOf({ lastOf }: Pick<AggregateRecord, 'lastOf'>): Wishes {
  return (lastOf.approver?.section as Wishes | undefined) ?? { recent: [] };
}
