import { type ClusterRecord, type Decision, livenessOf } from '@rollcall/shared/events';
import type { Priority } from '../queue/priority.ts';

/** How far the registration of a cluster is, whether it is alive or not. */
export type RegistrationPhase =
  | 'undecided'
  | 'accepted'
  | 'denied'
  | 'revoked'
  | 'banned'
  | 'leaving'
  | 'left';

/** The approver's word about the request that stands now; an older one is about another request or another key. */
export function currentDecision({ identity, decision }: ClusterRecord): Decision | undefined {
  return decision !== undefined && decision.requestId === identity?.request.id ? decision : undefined;
}

/**
 * Whether the hub is done with the cluster as it was: a `left`, or the new request that followed one. A request that another
 * key makes in the middle of leaving is none: then the access or the key is still there.
 */
export function hasLeft(record: ClusterRecord): boolean {
  const { identity, decision, access } = record;
  if (identity?.state === 'left' && decision?.verdict !== 'predefined') return true;
  // A predefined cluster that nobody bound to: there is nothing to wait for.
  if (decision?.verdict === 'leaving' && decision.requestId === undefined) return true;
  const isOver = identity?.admittedKey === undefined && access?.state === 'deprovisioned';
  return isOver && decision?.verdict === 'leaving' && currentDecision(record) === undefined;
}

/**
 * Whether the deletion of this object has ended a former registration of the cluster, which came back before the object was gone. What is
 * being deleted stays so: nobody could delete it once more, and who did waits for its end. A request in the middle of leaving is
 * no return: then the access or the key is still there.
 */
export function endedFormerRegistration(
  { decision, identity, access }: ClusterRecord,
  { metadata }: { readonly metadata: { readonly uid: string; readonly deletionTimestamp?: string } },
): boolean {
  if (!decision || decision.verdict === 'leaving' || metadata.deletionTimestamp === undefined) return false;
  // A predefined cluster that nobody bound to never had access.
  const hasNone = access === undefined || access.state === 'deprovisioned';
  const isOver = identity?.admittedKey === undefined && hasNone;
  return decision.leavingUid === metadata.uid && (decision.approvedKey !== undefined || isOver);
}

/**
 * Whether the cluster is made up and nobody wants to see it (`rollcall simulate`). Both sections must say so once there are two:
 * a registrar that was taken over must not be able to hide a cluster that the approver let in.
 */
export function isHidden({ identity, decision }: ClusterRecord): boolean {
  const saysSo = identity?.simulated?.isShown === false;
  return saysSo && (decision === undefined || decision.simulated?.isShown === false);
}

/** Whether the key with member credentials was taken back. An approval takes it off the list, so no times are compared: clocks differ. */
export function isKeyRevoked({ identity, decision }: ClusterRecord): boolean {
  return decision?.revokedKeys.some(({ key }) => key === identity?.admittedKey) ?? false;
}

/** A word about another key than the one that is in changes nothing for the member (principle 11). */
export function registrationPhaseOf(record: ClusterRecord): RegistrationPhase {
  const { identity, decision } = record;
  if (hasLeft(record)) return 'left';
  if (!decision) return 'undecided';
  // Of a cluster that came after the backup of a restored hub, a ban may be all that is known.
  if (!identity) return decision.verdict === 'banned' ? 'banned' : 'undecided';
  if (decision.approvedKey !== undefined) return 'accepted';
  switch (decision.verdict) {
    case 'approved':
      return 'accepted';
    case 'held':
    case 'predefined':
      return 'undecided';
    default:
      return decision.verdict;
  }
}

/** Whether this cluster was let in at any time since it asked: then its ManagedCluster is made again if it is missing. */
export function wasLetIn(record: ClusterRecord): boolean {
  const { identity, access } = record;
  if (registrationPhaseOf(record) === 'accepted' || identity?.admittedKey !== undefined) return true;
  return access !== undefined && access.requestId === identity?.request.id;
}

/**
 * What the record is about to become. `undecided` and `joining` normally last some ten milliseconds, so their projection waits
 * a little for the next event; everything else is shown at once.
 */
export function debouncePhaseOf(record: ClusterRecord): 'undecided' | 'joining' | 'settled' {
  if (record.access?.state === 'failed' || record.identity?.state === 'refused') return 'settled';
  if (record.identity?.state !== 'left' && currentDecision(record) === undefined) return 'undecided';
  return registrationPhaseOf(record) === 'accepted' && livenessOf(record) === undefined
    ? 'joining'
    : 'settled';
}

/** What changes about a cluster that leaves waits for what changes about the others. */
export function priorityOf(record: ClusterRecord): Priority {
  const phase = registrationPhaseOf(record);
  return phase === 'leaving' || phase === 'left' ? 'departure' : 'transition';
}
