import type { EventLog, Trace } from '@rollcall/shared/bus';
import { decideAndAppend } from '@rollcall/shared/decisions';
import {
  clusterRecord,
  type ClusterRecord,
  type Decision,
  draft,
  type EventDraft,
  type Identity,
  leaving,
  livenessOf,
} from '@rollcall/shared/events';
import { isSignedBy } from '@rollcall/shared/trust';
import {
  allKeysTaken,
  type Heartbeat,
  type Outcome,
  type SectionBase,
  withAllRevoked,
  withRevoked,
  withTakenByAgent,
} from './decision-section.ts';
import { saidIn } from './read-signed-request.ts';
import { decideRevocation, followUpRevocation } from './events-after-decision.ts';

/** Every key that is out when its cluster leaves is out for good, the one that leaves with it too. */
function tombstones(revokedKeys: Decision['revokedKeys']): Decision['revokedKeys'] {
  return revokedKeys.map((revoked) => ({ ...revoked, left: true }));
}

/** An agent that is not there is not waited for: it hears that it left when it comes back. */
function isAgentThere(record: ClusterRecord): boolean {
  return livenessOf(record)?.state === 'ready';
}

/**
 * The approver's section of a cluster that leaves: nobody is in any more, and no key of it ever comes back.
 * @param how.waitMs - how long the agent has to remove itself from the member
 * @param how.isByAgent - nobody else wants it: its keys make room for others on a list that is full
 */
export function leavingSection(
  base: SectionBase,
  outcome: Omit<Outcome, 'verdict'>,
  how: { record: ClusterRecord; waitMs: number; isAgentThere?: boolean; isByAgent?: boolean },
): Decision {
  const { identity, previous, nowMs } = base;
  const take = how.isByAgent ? withTakenByAgent : withAllRevoked;
  const taken = allKeysTaken(base, { ...outcome, verdict: 'leaving' }, take);
  const isOwned = previous?.approvedKey !== undefined || identity.admittedKey !== undefined;
  const { key } = identity.request;
  // Nobody was let in: then it is the key that waits that leaves.
  const listed = isOwned ? taken.revokedKeys : take(taken.revokedKeys, [key], nowMs);
  // One that a person wanted replaced may be in other hands: it is not only its agent that takes it back.
  const unsafe = listed.find((revoked) => revoked.key === previous?.rotationRequest?.key);
  const revokedKeys = unsafe ? withRevoked(listed, [unsafe.key], nowMs) : listed;
  const isThere = how.isAgentThere ?? isAgentThere(how.record);
  return {
    ...taken,
    ...(previous ? { clusterName: previous.clusterName, namespace: previous.namespace } : {}),
    revokedKeys: tombstones(revokedKeys),
    ...(isThere ? { leaveUntilMs: nowMs + how.waitMs } : {}),
  };
}

export interface LeaveContext {
  readonly record: ClusterRecord;
  readonly heartbeat: Heartbeat;
  readonly nowMs: number;
  readonly leaveWaitMs: number;
}

/**
 * Whether the owner's key has signed that its agent leaves. It is checked here although the registrar has done so: whoever has the
 * registrar must not be able to put members out.
 */
function isAskedByOwner(identity: Identity, previous: Decision | undefined): boolean {
  const { key, proof } = identity.leave ?? {};
  const owner = previous?.approvedKey ?? identity.admittedKey ?? identity.request.key;
  if (key === undefined || proof === undefined || key !== owner) return false;
  const { verb, body } = saidIn(proof.signed);
  return verb === 'leave' && body?.clusterId === identity.clusterId && isSignedBy(proof, key);
}

function isKeyTakenBack(previous: Decision | undefined, agentKey: string): boolean {
  return previous?.revokedKeys.some(({ key }) => key === agentKey) ?? false;
}

/** An agent that asks to leave does: it is its own cluster that it takes away. */
export function decideLeaveRequested(context: LeaveContext): EventDraft[] {
  const { record, heartbeat, nowMs, leaveWaitMs } = context;
  const { identity, decision: previous } = record;
  if (!identity || identity.state === 'left' || identity.leave?.signedAtMs === undefined) return [];
  if (!isAskedByOwner(identity, previous)) return [];
  // What the last decision takes back comes first: its `revoked` is found by being the newest one.
  if (previous?.verdict === 'leaving' || decideRevocation(record).length > 0) return [];
  // A ban ends by a person's word, and so does a revocation: what left comes back as new, with whatever token it has.
  if (previous?.verdict === 'banned' || isKeyTakenBack(previous, identity.leave.key)) return [];
  const outcome = { by: { service: 'agent' }, reason: 'AgentLeaves', message: 'the agent asked to leave' };
  const section = leavingSection({ identity, previous, heartbeat, nowMs }, outcome, {
    record,
    waitMs: leaveWaitMs,
    isAgentThere: true,
    isByAgent: true,
  });
  return [draft(leaving, record, { ...outcome, section })];
}

export async function followUpLeaveRequest(
  parts: { log: EventLog; heartbeat: Heartbeat; leaveWaitMs: number; nowMs(): number },
  clusterId: string,
  trace: Trace,
): Promise<void> {
  const { log, heartbeat, leaveWaitMs, nowMs } = parts;
  const gather = async () => {
    const record = clusterRecord(await log.read({ kind: 'cluster', id: clusterId }));
    return { record, heartbeat, nowMs: nowMs(), leaveWaitMs };
  };
  await followUpRevocation(log, clusterId, trace);
  await decideAndAppend(log, { gather, decide: decideLeaveRequested }, trace);
  await followUpRevocation(log, clusterId, trace);
}
