import type { ClusterRecord } from './records/fold-record.ts';

/** Whether a cluster that is not in, and has no key to come back to, waits for a decision about the request that stands now. */
export function waitsAsNewcomer({
  identity,
  decision,
}: Pick<ClusterRecord, 'identity' | 'decision'>): boolean {
  if (identity?.state !== 'requested' || identity.admittedKey !== undefined) return false;
  const { request } = identity;
  const isHeld =
    decision?.verdict === 'held' && decision.requestId === request.id && decision.key === request.key;
  return isHeld && decision.approvedKey === undefined && decision.withdrawnKey === undefined;
}
