import type { ClusterRecord } from '@rollcall/shared/events';

export type AccessStep = 'provision' | 'deprovision';

type Sections = Pick<ClusterRecord, 'identity' | 'decision' | 'access'>;

/**
 * A denial of another key than the one that was let in says nothing about the owner's access (decision 11), unless that
 * key was taken back as well.
 */
function deniesAStranger({ identity, decision }: Sections): boolean {
  const owner = decision?.approvedKey ?? identity?.admittedKey;
  if (owner === undefined || decision?.verdict !== 'denied' || decision.key === owner) return false;
  return !decision.revokedKeys.some(({ key }) => key === owner);
}

/**
 * What the approver's last decision asks for in Kubernetes, whether or not it is there already.
 * @returns undefined when it asks for nothing: held and predefined leave things as they are
 */
export function wantedAccess(record: Sections): AccessStep | undefined {
  switch (record.decision?.verdict) {
    case 'approved':
      return 'provision';
    case 'denied':
      return deniesAStranger(record) ? undefined : 'deprovision';
    case 'revoked':
    case 'banned':
    case 'leaving':
      return 'deprovision';
    default:
      return undefined;
  }
}

/**
 * What is still to be done, by the record alone. A request that waits behind an approved one changes nothing: access is
 * the cluster's, and the approver's last word about the cluster counts.
 */
export function accessStep(record: Sections): AccessStep | undefined {
  const { decision, access } = record;
  const wanted = wantedAccess(record);
  if (!decision || !wanted) return undefined;
  const isForThisRequest = access?.requestId === decision.requestId;
  if (wanted === 'provision') {
    const isThere = access?.state === 'provisioned' && access.namespace === decision.namespace;
    return isThere && isForThisRequest ? undefined : 'provision';
  }
  // Leaving always ends in `deprovisioned`, even where nothing was made: `left` waits for it.
  if (decision.verdict === 'leaving') {
    const isGone = access?.state === 'deprovisioned' && access.verdict === 'leaving';
    return isGone && isForThisRequest ? undefined : 'deprovision';
  }
  // Most denials are of clusters that were never let in.
  if (decision.verdict === 'denied' && access === undefined) return undefined;
  return access?.state === 'deprovisioned' ? undefined : 'deprovision';
}
