import type { Decision } from './types/approver-events.ts';
import { type ClusterRecord, currentIdentity, type NameRecord } from './records/fold-record.ts';
import { clusterIdOf } from './safe-id.ts';

/** Names that can be no namespace of a cluster; the admission policies refuse the same (deploy/admission/provisioner.yaml). */
export function isReservedClusterName(name: string): boolean {
  return /^(default$|kube-|rollcall-)/.test(name);
}

/** Which cluster an object is about that a person made beforehand; undefined where it names none. */
export function predefinedId(spec: {
  readonly clusterId?: string | undefined;
  readonly clientId?: string | undefined;
}): string | undefined {
  return spec.clusterId ?? (spec.clientId === undefined ? undefined : clusterIdOf(spec.clientId));
}

/** Whether a predefined cluster has no key yet: then only a token that names it may bind to it. */
export function isPredefinedUnbound(
  decision: Decision | undefined,
): decision is Decision & { predefined: NonNullable<Decision['predefined']> } {
  return (
    decision?.predefined !== undefined && decision.verdict !== 'leaving' && decision.approvedKey === undefined
  );
}

/** Why an object of a person defines no cluster, as its condition Accepted says it. */
export interface PredefinedObstacle {
  readonly reason: 'NameReserved' | 'IdMismatch' | 'IdTaken' | 'NameTaken';
  readonly message: string;
}

/** Two ids that are not those of one cluster; once one of them is declared, the other may still be edited. */
export function idMismatch({
  clusterId,
  clientId,
}: {
  readonly clusterId?: string | undefined;
  readonly clientId?: string | undefined;
}): PredefinedObstacle | undefined {
  if (clusterId === undefined || clientId === undefined || clusterIdOf(clientId) === clusterId)
    return undefined;
  const message = `the cluster id of the client id "${clientId}" is "${clusterIdOf(clientId)}", not "${clusterId}"; give one of the two`;
  return { reason: 'IdMismatch', message };
}

/** Whether nobody of this id is known, or it has left. */
function isFree(cluster: ClusterRecord): boolean {
  const { decision } = cluster;
  if (currentIdentity(cluster)) return false;
  return decision === undefined || decision.verdict === 'leaving';
}

/**
 * Why a ManagedCluster that a person made defines no cluster. The approver acts on it and the projector shows it, so that both
 * always say the same.
 * @returns undefined where it does, or where it shows the very cluster that has the id
 */
export function predefinedObstacle(of: {
  readonly name: string;
  readonly spec: { readonly clusterId?: string | undefined; readonly clientId?: string | undefined };
  readonly cluster: ClusterRecord;
  readonly holder: NameRecord;
}): PredefinedObstacle | undefined {
  const { name, spec, cluster, holder } = of;
  const { id } = cluster.aggregate;
  const mismatch = idMismatch(spec);
  if (mismatch) return mismatch;
  const knownAs = cluster.decision?.clusterName ?? cluster.identity?.clusterName;
  if (!isFree(cluster) && knownAs !== name) {
    return { reason: 'IdTaken', message: `the cluster id "${id}" is that of the cluster "${knownAs}"` };
  }
  if (holder.holder !== undefined && holder.holder !== id) {
    return {
      reason: 'NameTaken',
      message: `the name "${name}" belongs to the cluster id "${holder.holder}"`,
    };
  }
  if (isReservedClusterName(name)) {
    const message = `"${name}" is reserved on the hub and cannot be the name of a cluster`;
    return { reason: 'NameReserved', message };
  }
  return undefined;
}
