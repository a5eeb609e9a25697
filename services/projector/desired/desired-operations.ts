import {
  type AggregateRecord,
  bulkConfirmedForMs,
  type BulkChanges,
  bulkOf,
  isRecent,
} from '@rollcall/shared/events';
import type { ShownOperation, ShownOperations } from '@rollcall/shared/resources';
import { hubTime } from './hub-time.ts';

type BulkOperation = NonNullable<BulkChanges['held']>['operations'][number];

const shown = ({ clusterName, clusterId, type, person, digest }: BulkOperation): ShownOperation => ({
  cluster: clusterName,
  clusterId,
  operation: type,
  by: person,
  digest,
});

/**
 * What of a bulk change waits for a person, and what a person confirmed and has not been acted on yet.
 * @returns `againInMs`: when a confirmation ends, although nothing happens
 */
export function desiredOperations(
  record: Pick<AggregateRecord, 'lastOf'>,
  nowMs: number,
): { operations: ShownOperations; againInMs?: number } {
  const { held, confirmed } = bulkOf(record);
  const isConfirmed =
    confirmed !== undefined &&
    confirmed.operations.length > 0 &&
    isRecent(confirmed.atMs, { nowMs, withinMs: bulkConfirmedForMs });
  return {
    operations: {
      ...(held ? { held: { id: held.id, limit: held.limit, operations: held.operations.map(shown) } } : {}),
      ...(isConfirmed
        ? { confirmed: { at: hubTime(confirmed.atMs), operations: confirmed.operations.map(shown) } }
        : {}),
    },
    ...(isConfirmed ? { againInMs: confirmed.atMs + bulkConfirmedForMs - nowMs } : {}),
  };
}
