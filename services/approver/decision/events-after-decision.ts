import type { EventLog, Trace } from '@rollcall/shared/bus';
import { decideAndAppend } from '@rollcall/shared/decisions';
import {
  clusterRecord,
  type ClusterRecord,
  type Decision,
  draft,
  type EventDraft,
  identitySchema,
  nameRecord,
  type NameRecord,
  nameReleased,
  revoked,
  type StoredEvent,
} from '@rollcall/shared/events';
import { decideRotationEnd } from './key-rotated.ts';

const endInRevoked = new Set(['approved', 'denied', 'banned', 'leaving']);

/**
 * Every decision that takes a key back ends in `revoked` (principle 7). The decision itself lists the key already, so that
 * nobody is let in between the two; this event makes the key's connections end. It repeats the section: one event of an
 * aggregate cannot carry two verdicts.
 */
export function decideRevocation({ aggregate, head, lastOf, decision }: ClusterRecord): EventDraft[] {
  const last = lastOf.approver;
  if (!last || !decision || !endInRevoked.has(last.type)) return [];
  if (!takesKeyBack(decision)) return [];
  const reason = last.type === 'approved' ? 'KeyReplaced' : decision.reason;
  const message = last.type === 'approved' ? 'a new key was approved in its place' : decision.message;
  return [draft(revoked, { aggregate, head }, { by: decision.by, reason, message, section: decision })];
}

/**
 * Whether an own event may have to end in `revoked`. One that takes no key back has not, and whatever came after it wakes the
 * approver by itself; so most approvals need no look at the record.
 */
export function mayEndInRevoked({ definition, section }: StoredEvent): boolean {
  return definition.writer === 'approver' && takesKeyBack(section as Decision);
}

function takesKeyBack({ revokedKeys, decidedAtMs }: Decision): boolean {
  return revokedKeys.some(({ atMs }) => atMs === decidedAtMs);
}

/** Whether the cluster is called that now. One that has left is not, and one that asked again in vain, or by another name. */
function isCalled({ identity }: ClusterRecord, name: string): boolean {
  const isThere = identity?.state === 'requested' || identity?.state === 'admitted';
  return isThere && identity.clusterName === name;
}

/** A name is free again once the cluster that had it has left and has not come back by that name. */
export function decideNameRelease({
  name,
  cluster,
}: {
  name: NameRecord;
  cluster: ClusterRecord;
}): EventDraft[] {
  const clusterId = cluster.aggregate.id;
  if (!cluster.identity || name.holder !== clusterId || isCalled(cluster, name.aggregate.id)) return [];
  // Defined anew by a person meanwhile: the name is reserved for it again.
  const { decision } = cluster;
  if (decision?.verdict === 'predefined' && decision.clusterName === name.aggregate.id) return [];
  const section = { name: name.aggregate.id, clusterId, free: true };
  const message = `cluster "${clusterId}" has left`;
  return [
    draft(nameReleased, name, { by: { service: 'approver' }, reason: 'ClusterLeft', message, section }),
  ];
}

const readCluster = async (log: EventLog, id: string) =>
  clusterRecord(await log.read({ kind: 'cluster', id }));

export async function followUpRevocation(log: EventLog, clusterId: string, trace: Trace): Promise<void> {
  // By the approver's own word alone, whatever the registrar says.
  const gather = async () =>
    clusterRecord(await log.read({ kind: 'cluster', id: clusterId }, { unknownAsGarbage: 'registrar' }));
  await decideAndAppend(log, { gather, decide: decideRevocation }, trace);
}

/** The agent was heard with the new key of a rotation: the former one is out. */
export async function followUpRotation(
  log: EventLog,
  clusterId: string,
  { nowMs, trace }: { nowMs(): number; trace: Trace },
): Promise<void> {
  const decide = (record: ClusterRecord) => decideRotationEnd(record, nowMs());
  await decideAndAppend(log, { gather: () => readCluster(log, clusterId), decide }, trace);
}

/** @param left - names the cluster as it was; by now it may have asked again by another name */
export async function releaseName(log: EventLog, left: StoredEvent, trace: Trace): Promise<void> {
  const { clusterName } = identitySchema.parse(left.section);
  const gather = async () => {
    // First the name: whoever takes it again after the cluster was read makes this append lose.
    const name = nameRecord(await log.read({ kind: 'name', id: clusterName }));
    return { name, cluster: await readCluster(log, left.id) };
  };
  await decideAndAppend(log, { gather, decide: decideNameRelease }, trace);
}
