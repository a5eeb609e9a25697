import type { ClusterRecord, Decision } from '@rollcall/shared/events';

/** `provision`: the namespace. `give-access`: also what gives the member rights in it. */
export type AccessPlan = 'provision' | 'give-access' | 'deprovision';

/** Who has a namespace: every cluster that is in, or only those that were given access in it. */
export const namespaceOwners = ['all', 'access'] as const;
export type NamespaceOwners = (typeof namespaceOwners)[number];

type Sections = Pick<ClusterRecord, 'identity' | 'decision' | 'access'>;

/**
 * A denial of another key than the one that was let in says nothing about the owner's access (principle 11), unless that
 * key was taken back as well.
 */
function deniesAStranger({ identity, decision }: Sections): boolean {
  const owner = decision?.approvedKey ?? identity?.admittedKey;
  if (owner === undefined || decision?.verdict !== 'denied' || decision.key === owner) return false;
  return !decision.revokedKeys.some(({ key }) => key === owner);
}

/**
 * What the approver's last decision asks for in Kubernetes, whether or not it is there already. A verdict about a stranger's
 * key (held, or denied) leaves the owner what it has; but what an earlier verdict asked for may not be done yet, so it is asked
 * for again: access while a key is in, and none while none is. An account is made for those only who may use it (ADR 19).
 * @returns undefined when it asks for nothing: predefined leaves things as they are
 */
export function wantedAccess(record: Sections): AccessPlan | undefined {
  const ofMember = record.decision?.access === 'Namespace' ? 'give-access' : 'provision';
  const ofOwner = record.decision?.approvedKey === undefined ? 'deprovision' : ofMember;
  switch (record.decision?.verdict) {
    case 'approved':
      return ofMember;
    case 'held':
      return ofOwner;
    case 'denied':
      return deniesAStranger(record) ? ofOwner : 'deprovision';
    case 'revoked':
    case 'banned':
    case 'leaving':
      return 'deprovision';
    default:
      return undefined;
  }
}

/**
 * Whether a namespace was made for a registration of the cluster that has ended: the one now has another, or has nothing and the end of
 * that one was told already. Who was denied keeps it, whoever asks meanwhile.
 * @param made - the decision that it was made by
 */
export function isOfFormerRegistration(made: Decision, record: Sections): boolean {
  const { access, decision } = record;
  if (made.namespace !== decision?.namespace) return true;
  const wanted = wantedAccess(record);
  const isToHaveNothing = wanted === undefined || wanted === 'deprovision';
  const isEndTold = access?.state === 'deprovisioned' && access.verdict === 'leaving';
  return isToHaveNothing && isEndTold && access.requestId === made.requestId;
}

/** Whether it has the namespace that it is to have. */
export function isProvisioned({ decision, access }: Pick<Sections, 'decision' | 'access'>): boolean {
  return access?.state === 'provisioned' && access.namespace === decision?.namespace;
}

/** Whether it was told that the member has a ServiceAccount and a RoleBinding. */
export function hasAccount({ access }: Pick<Sections, 'access'>): boolean {
  return access?.serviceAccount !== undefined;
}

/** The request that access is made for: the approved one. The record no longer names it once a stranger's request is decided. */
export function accessRequestId({ decision, access }: Sections): string | undefined {
  const isAboutStranger = decision?.verdict === 'held' || decision?.verdict === 'denied';
  return isAboutStranger && decision.approvedKey !== undefined ? access?.requestId : decision?.requestId;
}

/**
 * Says whether access tokens that were made must be taken back: access was withdrawn, or another key is in than the one that has
 * them. Where no key is in, everything goes.
 */
export function areTokensStale({ decision, access }: Pick<Sections, 'decision' | 'access'>): boolean {
  if (access?.tokens === undefined || !decision) return false;
  return decision.access !== 'Namespace' || decision.approvedKey !== access.tokens.key;
}

/** Nothing of it is in Kubernetes, or only a namespace that outlived what it was made for. */
function hasNothing({ access }: Pick<Sections, 'access'>): boolean {
  return access === undefined || access.state === 'deprovisioned';
}

/**
 * What is still to be done, by the record alone. A request that waits behind an approved one changes nothing: access is
 * the cluster's, and the approver's last word about the cluster counts.
 */
export function planAccess(record: Sections, namespaces: NamespaceOwners = 'all'): AccessPlan | undefined {
  const { decision, access } = record;
  const wanted = wantedAccess(record);
  if (!decision || !wanted) return undefined;
  const isForThisRequest = access?.requestId === accessRequestId(record);
  // Who had one keeps it: people may have put something there.
  if (wanted === 'provision' && namespaces === 'access' && hasNothing(record)) return undefined;
  if (wanted !== 'deprovision') {
    const isThere = isProvisioned(record) && hasAccount(record) === (wanted === 'give-access');
    return isThere && isForThisRequest && !areTokensStale(record) ? undefined : wanted;
  }
  // Leaving always ends in `deprovisioned`, even where nothing was made: `left` waits for it.
  if (decision.verdict === 'leaving') {
    // A predefined cluster that nobody bound to: nothing was ever made, and nobody waits.
    if (decision.requestId === undefined) return undefined;
    const isGone = access?.state === 'deprovisioned' && access.verdict === 'leaving';
    return isGone && isForThisRequest ? undefined : 'deprovision';
  }
  // Most of those who are denied or held were never let in.
  if ((decision.verdict === 'denied' || decision.verdict === 'held') && access === undefined)
    return undefined;
  return access?.state === 'deprovisioned' ? undefined : 'deprovision';
}
