import type { ClusterRecord, Decision, Liveness } from '@rollcall/shared/events';

/** Where a cluster stands with the hub, whether it is alive or not. */
export type Standing = 'undecided' | 'accepted' | 'denied' | 'revoked' | 'banned' | 'leaving' | 'left';

/** Clocks of hub machines differ by less than this; a join that is older than that before an admission is of an earlier life. */
const clockSkewMs = 60_000;

/** The approver's word about the request that stands now; an older one is about another request or another key. */
export function currentDecision({ identity, decision }: ClusterRecord): Decision | undefined {
  return decision !== undefined && decision.requestId === identity?.request.id ? decision : undefined;
}

/** Whether the hub is done with the cluster as it was: a `left`, or a new request, which may only follow one. */
export function hasLeft(record: ClusterRecord): boolean {
  const { identity, decision } = record;
  if (identity?.state === 'left') return true;
  return decision?.verdict === 'leaving' && currentDecision(record) === undefined;
}

/** Whether the key with member credentials was taken back after it got them. */
export function isKeyRevoked({ identity, decision }: ClusterRecord): boolean {
  const { admittedKey, admittedAtMs = 0 } = identity ?? {};
  return decision?.revokedKeys.some(({ key, atMs }) => key === admittedKey && atMs >= admittedAtMs) ?? false;
}

/** A word about another key than the member's own changes nothing for the member (decision 11). */
function isAboutAnotherKey(record: ClusterRecord): boolean {
  const { identity, decision } = record;
  return identity?.admittedKey !== undefined && decision?.key !== identity.admittedKey && !isKeyRevoked(record);
}

export function standingOf(record: ClusterRecord): Standing {
  const { identity, decision } = record;
  if (hasLeft(record)) return 'left';
  if (!identity || !decision) return 'undecided';
  switch (decision.verdict) {
    case 'approved':
      return 'accepted';
    case 'held':
      return isAboutAnotherKey(record) ? 'accepted' : 'undecided';
    case 'denied':
      return isAboutAnotherKey(record) ? 'accepted' : 'denied';
    case 'predefined':
      return 'undecided';
    default:
      return decision.verdict;
  }
}

/** Whether this cluster was let in at any time since it asked: then its ManagedCluster is made again if it is missing. */
export function wasLetIn(record: ClusterRecord): boolean {
  const { identity, access } = record;
  if (standingOf(record) === 'accepted' || identity?.admittedKey !== undefined) return true;
  return access !== undefined && access.requestId === identity?.request.id;
}

/** What the heartbeat service says of the member as it is admitted now; silent about an earlier key or an earlier life. */
export function livenessOf({ identity, liveness }: ClusterRecord): Liveness | undefined {
  if (!liveness || identity?.admittedKey === undefined || liveness.key !== identity.admittedKey) return undefined;
  return liveness.joinedAtMs + clockSkewMs < (identity.admittedAtMs ?? 0) ? undefined : liveness;
}

/**
 * What the record is about to become. `undecided` and `joining` normally last some ten milliseconds, so their picture waits
 * a little for the next event; everything else is shown at once.
 */
export function phaseOf(record: ClusterRecord): 'undecided' | 'joining' | 'settled' {
  if (record.access?.state === 'failed' || record.identity?.state === 'refused') return 'settled';
  if (record.identity?.state === 'requested' && currentDecision(record) === undefined) return 'undecided';
  return standingOf(record) === 'accepted' && livenessOf(record) === undefined ? 'joining' : 'settled';
}
