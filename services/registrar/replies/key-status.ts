import {
  type ClusterRecord,
  currentIdentity,
  type Decision,
  isTombstoned,
  type JoinRequest,
} from '@rollcall/shared/events';
import type { Refusal } from './refusal.ts';

/** Where a key stands with its cluster, by what has been decided. */
export type KeyStatus =
  | { readonly kind: 'member' }
  | { readonly kind: 'waiting'; readonly reason: string; readonly message: string }
  /** The cluster leaves, and this key's agent has not said yet that it cleaned up. */
  | { readonly kind: 'leaving'; readonly reason: string; readonly message: string }
  | { readonly kind: 'refused'; readonly refusal: Refusal }
  | { readonly kind: 'unknown' };

/** A key of a cluster that left is none any more, whatever became of the cluster since. */
export const clusterLeft: Refusal = {
  code: 'CLUSTER_LEFT',
  message: 'the cluster of this key has left the hub',
};

/** Of a cluster whose other keys may be good. */
export const keyTakenBack: Refusal = { code: 'CLUSTER_REVOKED', message: 'this key was taken back' };

/** No key of a banned cluster is good, and no token makes it so. */
export function banOf({ reason, message }: Decision): Refusal {
  return { code: 'CLUSTER_BANNED', message: `${reason}: ${message}` };
}

/**
 * The key whose agent is told that its cluster leaves: that of the owner; of a cluster that nobody was let in for, the one
 * that asked.
 */
export function leavingKeyOf(record: ClusterRecord): string | undefined {
  // One that was refused asked after the cluster had left, or before anybody was let in: nothing of it leaves.
  const identity = currentIdentity(record);
  if (!identity || record.decision?.verdict !== 'leaving') return undefined;
  return identity.admittedKey ?? identity.request.key;
}

/** Whether the approver's last word has the key among those that are taken back; an approval of it takes it off. */
export function isKeyTakenBack({ decision }: ClusterRecord, agentKey: string): boolean {
  return decision?.revokedKeys.some(({ key }) => key === agentKey) ?? false;
}

/** The request that waits for a decision, if one does. */
export function openRequest(record: ClusterRecord): JoinRequest | undefined {
  const { request } = currentIdentity(record) ?? {};
  const { decision } = record;
  if (!request) return undefined;
  // The key too, because the id of a request is the agent's to choose.
  const isDecided = decision?.requestId === request.id && decision.key === request.key;
  return !isDecided || decision.verdict === 'held' ? request : undefined;
}

/**
 * Says what a key may have. Member credentials are given by the approver's own last decision and by nothing else.
 * A verdict about another request or another key is not one about this.
 */
export function keyStatusOf(record: ClusterRecord, agentKey: string): KeyStatus {
  const { identity, decision } = record;
  if (isTombstoned(decision, agentKey)) {
    const isAwaited = leavingKeyOf(record) === agentKey && identity?.leave?.cleanedAtMs === undefined;
    return isAwaited
      ? { kind: 'leaving', reason: decision?.reason ?? '', message: decision?.message ?? '' }
      : { kind: 'refused', refusal: clusterLeft };
  }
  if (!identity || identity.state === 'left') return { kind: 'unknown' };
  // About the cluster, whichever of its keys asks.
  if (decision?.verdict === 'banned') return { kind: 'refused', refusal: banOf(decision) };
  if (decision?.approvedKey === agentKey) return { kind: 'member' };
  if (identity.request.key !== agentKey) {
    const wasRevoked = isKeyTakenBack(record, agentKey);
    return wasRevoked ? { kind: 'refused', refusal: keyTakenBack } : { kind: 'unknown' };
  }
  if (identity.state === 'refused') return { kind: 'unknown' };
  if (decision?.requestId !== identity.request.id) {
    return { kind: 'waiting', reason: 'Pending', message: 'the request has not been judged yet' };
  }
  switch (decision.verdict) {
    case 'denied':
      return {
        kind: 'refused',
        refusal: { code: 'CLUSTER_DENIED', message: `${decision.reason}: ${decision.message}` },
      };
    case 'revoked':
    case 'leaving':
      return {
        kind: 'refused',
        refusal: { code: 'CLUSTER_REVOKED', message: `${decision.reason}: ${decision.message}` },
      };
    default:
      return { kind: 'waiting', reason: decision.reason, message: decision.message };
  }
}
