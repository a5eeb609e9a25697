import type { EventLog } from '@rollcall/shared/bus';
import { type ClusterRecord, type EventDraft, bulkAggregate } from '@rollcall/shared/events';
import type { FleetView } from '../fleet/fleet-view.ts';
import { countRecent, limitOf, type BulkContext, putsOut, type BulkLimit } from './bulk-change.ts';

export interface BulkParts {
  readonly log: Pick<EventLog, 'read'>;
  readonly fleet: Pick<FleetView, 'now'>;
  readonly limit: BulkLimit;
  nowMs(): number;
}

/** What would follow for a cluster, by its record as it is now. */
export interface Looked {
  readonly record: ClusterRecord;
  readonly drafts: readonly EventDraft[];
}

const puttingOut = ({ record, drafts: [operation] }: Looked): EventDraft | undefined =>
  operation && putsOut(record, operation) ? operation : undefined;

/**
 * Looks at a cluster, and at how many people put out lately where the operation puts this one out. The fleet is counted only where
 * the number alone does not let it pass.
 */
export async function gatherBulk(
  { log, fleet, limit, nowMs }: BulkParts,
  look: () => Promise<Looked>,
): Promise<{ drafts: readonly EventDraft[]; bulk?: BulkContext }> {
  const first = await look();
  if (!puttingOut(first)) return { drafts: first.drafts };
  const bulk = await log.read(bulkAggregate);
  // Again, after the counts: what another replica has acted on since would be listed as held.
  const now = await look();
  const operation = puttingOut(now);
  if (!operation) return { drafts: now.drafts };
  const atMs = nowMs();
  const isFew = countRecent(bulk, atMs) < limit.perMinute;
  const clusters = isFew ? 0 : (await fleet.now(atMs)).counts.clusters;
  return {
    drafts: now.drafts,
    bulk: { operation, bulk, limit: limitOf(limit, clusters), nowMs: atMs },
  };
}
