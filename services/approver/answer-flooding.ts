import type { EventLog, Trace } from '@rollcall/shared/bus';
import { decideAndAppend } from '@rollcall/shared/decisions';
import { clusterRecord, type ClusterRecord, draft, type EventDraft, revoked } from '@rollcall/shared/events';
import { withRevoked } from './cluster-section.ts';
import { gatherWish, type MassParts } from './mass-of-wishes.gather.ts';
import { passOrHold } from './mass-of-wishes.ts';
import { decideRevocation } from './settle-clusters.ts';

/** The key that floods the hub is out, unless somebody has decided about it since; a person can approve it again. */
export function decideFlooding(record: ClusterRecord, nowMs: number): EventDraft[] {
  const { decision, liveness } = record;
  const flood = liveness?.flood;
  if (!decision || !flood || liveness.key !== decision.approvedKey) return [];
  if (flood.atMs <= decision.decidedAtMs || decideRevocation(record).length > 0) return [];
  const { approvedKey, retiringKey, ...rest } = decision;
  const outcome = {
    by: { service: 'approver' },
    reason: 'Flooding',
    message: `its agent floods the hub: ${flood.beats} beats in ${flood.seconds.toFixed(1)} s`,
  };
  const words = decision.key === approvedKey ? { ...outcome, verdict: 'revoked' as const } : {};
  const revokedKeys = withRevoked(decision.revokedKeys, [approvedKey, retiringKey], nowMs);
  return [
    draft(revoked, record, { ...outcome, section: { ...rest, ...words, revokedKeys, decidedAtMs: nowMs } }),
  ];
}

/** Under the same limit as the wishes of people: a fault of ours that looks like a flood must not put the fleet out. */
export async function answerFlooding(
  mass: MassParts & { readonly log: EventLog },
  clusterId: string,
  trace: Trace,
): Promise<void> {
  const look = async () => {
    const record = clusterRecord(await mass.log.read({ kind: 'cluster', id: clusterId }));
    return { record, drafts: decideFlooding(record, mass.nowMs()) };
  };
  await decideAndAppend(
    mass.log,
    {
      gather: () => gatherWish(mass, look),
      decide: (wished) => (wished.mass ? passOrHold(wished.mass) : wished.drafts),
    },
    trace,
  );
}
