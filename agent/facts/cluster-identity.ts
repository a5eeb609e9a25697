import { setTimeout as delay } from 'node:timers/promises';
import { RollcallError, toRollcallError } from '@rollcall/shared/errors';
import { clusterIdOf, isSafeId, maxClientIdLength } from '@rollcall/shared/events/safe-id';
import type { KubeAccess } from '@rollcall/shared/kubernetes';
import { type BackOff, fullJitterMs } from '../hub/back-off.ts';
import type { OnPhase } from '../protocol/phase.ts';
import { memberError, type MemberApi } from './member-api.ts';

/** Contexts that every such installation has: as names of clusters they say nothing. */
const namesThatSayNothing = new Set([
  'kubernetes',
  'default',
  'minikube',
  'kind',
  'kind-kind',
  'k3d',
  'docker-desktop',
  'rancher-desktop',
  'microk8s',
  'cluster',
  'local-cluster',
  'kubernetes-admin-kubernetes',
  'in-cluster',
]);

/**
 * Finds out which cluster this is: the client id it was given, else the UID of its namespace kube-system.
 * @throws RollcallError CLUSTER_ID_INVALID, MEMBER_UNREACHABLE, MEMBER_FORBIDDEN
 */
export async function readClusterId(
  member: Pick<MemberApi, 'get'>,
  clientId: string | undefined,
): Promise<string> {
  if (clientId !== undefined) {
    if (clientId.length <= maxClientIdLength) return clusterIdOf(clientId);
    const shown = `"${clientId.slice(0, 40)}…"`;
    const message = `the client id ${shown} has ${clientId.length} characters; at most ${maxClientIdLength} are taken`;
    throw new RollcallError('CLUSTER_ID_INVALID', message);
  }
  const path = '/api/v1/namespaces/kube-system';
  const answer = await member.get(path);
  const uid = answer.status === 200 ? uidOf(answer.body) : undefined;
  if (uid === undefined) throw memberError(path, answer);
  return clusterIdOf(uid);
}

/**
 * Asks until the member says which cluster this is.
 * @param first - what was asked already
 * @throws AbortError after the signal
 */
export async function untilClusterId(
  first: Promise<string>,
  readAgain: () => Promise<string>,
  options: { readonly backOff: BackOff; readonly onPhase: OnPhase; readonly signal: AbortSignal },
): Promise<string> {
  const { backOff, onPhase, signal } = options;
  let next = first;
  for (let failures = 1; ; failures++) {
    try {
      return await next;
    } catch (thrown) {
      const { message, code, hint } = toRollcallError(thrown);
      const retryInMs = fullJitterMs(backOff, failures, Math.random());
      onPhase({ phase: 'preflight', message, detail: { code, hint, retryInMs } });
      await delay(retryInMs, undefined, { signal });
      next = readAgain();
    }
  }
}

function uidOf(body: string): string | undefined {
  try {
    const { metadata } = JSON.parse(body) as { metadata?: { uid?: string } };
    return metadata?.uid || undefined;
  } catch {
    return undefined;
  }
}

/**
 * The cluster's name: as given, else from the current context's cluster (lower case, other characters to `-`, cut at 63), else
 * `cluster-<first 8 of the id>` (surfaces: "Cluster name and id").
 * @param source.contextCluster - undefined where there is no kubeconfig
 * @throws RollcallError CLUSTER_NAME_INVALID for a given name that is none, or a derived one that says nothing
 */
export function clusterNameOf(source: {
  given?: string | undefined;
  contextCluster?: string | undefined;
  clusterId: string;
}): string {
  const { given, contextCluster, clusterId } = source;
  if (given !== undefined) {
    if (isSafeId(given)) return given;
    throw new RollcallError('CLUSTER_NAME_INVALID', `"${given.slice(0, 80)}" is no valid cluster name`);
  }
  if (contextCluster === undefined) return `cluster-${clusterId.slice(0, 8).replace(/-+$/, '')}`;
  const derived = contextCluster
    .toLowerCase()
    .replaceAll(/[^a-z0-9-]/g, '-')
    .slice(0, 63)
    .replaceAll(/^-+|-+$/g, '');
  if (derived === '' || namesThatSayNothing.has(derived)) {
    throw new RollcallError(
      'CLUSTER_NAME_INVALID',
      `the name "${derived}", derived from the cluster "${contextCluster.slice(0, 80)}" of the current context, says nothing; give one`,
    );
  }
  return derived;
}

/** The cluster of the kubeconfig's context; in a pod there is none. */
export function contextClusterOf(member: KubeAccess): string | undefined {
  return member.contextName === 'in-cluster' ? undefined : member.clusterName;
}
