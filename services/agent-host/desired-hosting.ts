import type { ClusterRecord } from '@rollcall/shared/events';
import { jwtIssuedAt } from '@rollcall/shared/trust/keys';
import type { AgentState } from '@rollcall/agent';

/** What the hub is to do about a member that it reaches by itself. */
export interface DesiredHosting {
  readonly clusterId: string;
  readonly clusterName: string;
  /** As a person gave it; absent where the cluster is known by the UID of its kube-system. */
  readonly clientId: string | undefined;
  readonly clusterType: 'Standard' | 'Edge';
  readonly mode: 'Pull' | 'Push';
  /** In the namespace of kubeconfigs. */
  readonly secret: string;
  /** Tells this registration of the cluster from an earlier one. */
  readonly sinceMs: number;
  /** Whether an agent has asked as this cluster in this registration: then there is one. */
  readonly hasRequested: boolean;
  /** The cluster has left: nothing is hosted any more, and what was made for it is to be gone. */
  readonly hasLeft: boolean;
}

/**
 * What a cluster's record asks of the agent host.
 * @returns undefined: nothing. Who leaves is still hosted: its agent says goodbye
 */
export function desiredHostingOf(record: ClusterRecord): DesiredHosting | undefined {
  const { decision, identity, aggregate } = record;
  const { kubeconfig, clientId, clusterType, mode } = decision?.predefined ?? {};
  if (!decision || !kubeconfig || !clusterType || !mode) return undefined;
  const hasRequested = identity !== undefined && identity.state !== 'left' && identity.state !== 'refused';
  return {
    clusterId: aggregate.id,
    clusterName: decision.clusterName,
    clientId,
    clusterType,
    mode,
    secret: kubeconfig.secret,
    sinceMs: kubeconfig.sinceMs,
    hasRequested,
    hasLeft: decision.verdict === 'leaving' && !hasRequested,
  };
}

/** Whether two hostings are served by the same work. */
export function isSameWork(a: DesiredHosting, b: DesiredHosting): boolean {
  return a.sinceMs === b.sinceMs && a.secret === b.secret && a.mode === b.mode;
}

/**
 * Whether kept keys are of an earlier registration of the cluster: they were let in before this one began, and nobody has asked in this one.
 * With them it would hear that it has left, and what was just made in the member would be taken away again.
 */
export function isOfEarlierRegistration(
  { member, waitingJwt }: Pick<AgentState, 'member' | 'waitingJwt'>,
  { hasRequested, sinceMs }: Pick<DesiredHosting, 'hasRequested' | 'sinceMs'>,
): boolean {
  const jwt = member?.jwt ?? waitingJwt;
  const issuedAtS = jwt === undefined ? undefined : jwtIssuedAt(jwt);
  return !hasRequested && issuedAtS !== undefined && issuedAtS * 1000 < sinceMs;
}
