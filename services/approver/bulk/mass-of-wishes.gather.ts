import type { EventLog } from '@rollcall/shared/bus';
import { type ClusterRecord, type EventDraft, wishesAggregate } from '@rollcall/shared/events';
import type { FleetView } from '../fleet/fleet-view.ts';
import { countRecent, limitOf, type MassContext, putsOut, type WishLimit } from './mass-of-wishes.ts';

export interface MassParts {
  readonly log: Pick<EventLog, 'read'>;
  readonly fleet: Pick<FleetView, 'now'>;
  readonly limit: WishLimit;
  nowMs(): number;
}

/** What a person's word would make of a cluster, by its record as it is now. */
export interface Wished {
  readonly record: ClusterRecord;
  readonly drafts: readonly EventDraft[];
}

const puttingOut = ({ record, drafts: [wish] }: Wished): EventDraft | undefined =>
  wish && putsOut(record, wish) ? wish : undefined;

/**
 * Looks at a cluster, and at how many people put out lately where the wish puts this one out. The fleet is counted only where
 * the number alone does not let it pass.
 */
export async function gatherWish(
  { log, fleet, limit, nowMs }: MassParts,
  look: () => Promise<Wished>,
): Promise<{ drafts: readonly EventDraft[]; mass?: MassContext }> {
  const first = await look();
  if (!puttingOut(first)) return { drafts: first.drafts };
  const wishes = await log.read(wishesAggregate);
  // Again, after the counts: what another replica has acted on since would be listed as held.
  const now = await look();
  const wish = puttingOut(now);
  if (!wish) return { drafts: now.drafts };
  const atMs = nowMs();
  const isFew = countRecent(wishes, atMs) < limit.perMinute;
  const clusters = isFew ? 0 : (await fleet.now(atMs)).counts.clusters;
  return { drafts: now.drafts, mass: { wish, wishes, limit: limitOf(limit, clusters), nowMs: atMs } };
}
