import { type Decision, type Identity, type Liveness, livenessOf } from '@rollcall/shared/events';

/** What of a cluster's record says whether its heartbeats count. */
export interface MemberSections {
  readonly identity?: Pick<Identity, 'state' | 'admittedKey' | 'admittedAtMs' | 'rotatedFrom'> | undefined;
  readonly decision?:
    | Pick<Decision, 'verdict' | 'key' | 'approvedKey' | 'heartbeat' | 'revokedKeys' | 'clusterSet'>
    | undefined;
  readonly liveness?: Liveness | undefined;
}

export interface Membership {
  readonly key: string;
  /** Hub time of the admission, by the registrar's clock. */
  readonly admittedAtMs: number;
  readonly intervalMs: number;
  readonly graceMs: number;
  readonly clusterSet: string | undefined;
  /** Of this admission; undefined until its first heartbeat. */
  readonly liveness: Liveness | undefined;
  /** Its first heartbeat makes it joined. */
  readonly mayJoin: boolean;
}

/** When a member joined that never sent a heartbeat: before any admission, so that it counts for none. */
export const neverJoinedAtMs = -1;
export const hasJoined = ({ joinedAtMs }: Liveness): boolean => joinedAtMs !== neverJoinedAtMs;

/** Verdicts about the cluster, whichever key the newest request names. */
const out = new Set<Decision['verdict']>(['revoked', 'banned', 'leaving']);

/**
 * Whether the cluster has a key whose heartbeats count. A request with another key, and what is decided about that request,
 * leaves the admitted key alone (principle 11).
 */
export function membershipOf({ identity, decision, liveness }: MemberSections): Membership | undefined {
  const key = identity?.admittedKey;
  if (!identity || !decision || !key || identity.state === 'left') return undefined;
  const isAboutKey = decision.key === key;
  if (out.has(decision.verdict) || (decision.verdict === 'denied' && isAboutKey)) return undefined;
  // Whenever that was: an approval takes the key off the list again, and the clocks of approver and registrar differ.
  if (decision.revokedKeys.some((revoked) => revoked.key === key)) return undefined;
  const admittedAtMs = identity.admittedAtMs ?? 0;
  const isApproved = decision.approvedKey === key || (decision.verdict === 'approved' && isAboutKey);
  return {
    key,
    admittedAtMs,
    intervalMs: decision.heartbeat.intervalSeconds * 1000,
    graceMs: decision.heartbeat.graceSeconds * 1000,
    clusterSet: decision.clusterSet,
    liveness: livenessOf({ identity, liveness }),
    mayJoin: identity.state === 'admitted' && isApproved,
  };
}
