import type { EventLog, Trace } from '@rollcall/shared/bus';
import { decideAndAppend } from '@rollcall/shared/decisions';
import {
  clusterRecord,
  type ClusterRecord,
  draft,
  type EventDraft,
  nameRecord,
  type NameRecord,
  nameReleased,
  revoked,
} from '@rollcall/shared/events';

const endInRevoked = new Set(['approved', 'denied', 'leaving']);

/**
 * Every decision that takes a key back ends in `revoked` (decision 7). The decision itself lists the key already, so that
 * nobody is let in between the two; this event makes the key's connections end. It repeats the section: one event of an
 * aggregate cannot carry two verdicts.
 */
export function decideRevocation({ aggregate, head, lastOf, decision }: ClusterRecord): EventDraft[] {
  const last = lastOf.approver;
  if (!last || !decision || !endInRevoked.has(last.type)) return [];
  const isTaken = decision.revokedKeys.some(({ atMs }) => atMs === decision.decidedAtMs);
  if (!isTaken) return [];
  const reason = last.type === 'approved' ? 'KeyReplaced' : decision.reason;
  const message = last.type === 'approved' ? 'a new key was approved in its place' : decision.message;
  return [draft(revoked, { aggregate, head }, { by: decision.by, reason, message, section: decision })];
}

/** A name is free again once the cluster that had it has left and has not come back. */
export function decideNameRelease({
  name,
  cluster,
}: {
  name: NameRecord;
  cluster: ClusterRecord;
}): EventDraft[] {
  const clusterId = cluster.aggregate.id;
  if (cluster.identity?.state !== 'left' || name.holder !== clusterId) return [];
  // Defined anew by a person meanwhile: the name is reserved for it again.
  if (cluster.decision?.verdict === 'predefined') return [];
  const section = { name: name.aggregate.id, clusterId, free: true };
  const message = `cluster "${clusterId}" has left`;
  return [
    draft(nameReleased, name, { by: { service: 'approver' }, reason: 'ClusterLeft', message, section }),
  ];
}

const readCluster = async (log: EventLog, id: string) =>
  clusterRecord(await log.read({ kind: 'cluster', id }));

export async function settleRevocation(log: EventLog, clusterId: string, trace: Trace): Promise<void> {
  await decideAndAppend(log, { gather: () => readCluster(log, clusterId), decide: decideRevocation }, trace);
}

export async function releaseName(log: EventLog, clusterId: string, trace: Trace): Promise<void> {
  const gather = async () => {
    const cluster = await readCluster(log, clusterId);
    const id = cluster.identity?.clusterName ?? clusterId;
    return { cluster, name: nameRecord(await log.read({ kind: 'name', id })) };
  };
  await decideAndAppend(log, { gather, decide: decideNameRelease }, trace);
}
