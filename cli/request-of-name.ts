import { RollcallError } from '@rollcall/shared/errors';
import { clusterIdOf } from '@rollcall/shared/events';
import { isForbidden, type KubeClient, resources, type StoredObject } from '@rollcall/shared/kubernetes';
import type { ManagedCluster } from '@rollcall/shared/resources';

type Named = {
  readonly metadata: { readonly name?: string | undefined };
  readonly spec?: { readonly clusterName?: string | undefined } | undefined;
  readonly status?:
    | { readonly result?: string | undefined; readonly reason?: string | undefined }
    | undefined;
};

/** Why a cluster that was let in has not got what it was given (services/rbac-provisioner/access/provision.ts). */
const failuresOfProvisioning: ReadonlySet<string | undefined> = new Set([
  'NamespaceTaken',
  'ObjectTaken',
  'ClusterNameReserved',
  'KubeApi',
]);

/** Whether the registrar refused it: nobody has decided, and no decision is acted on. */
export function wasRefusedUnjudged(status: Named['status']): boolean {
  return status?.result === 'Failed' && !failuresOfProvisioning.has(status.reason);
}

/**
 * Which request a name means. One that was refused has no name, whatever it asked for: nobody takes the name of another by asking.
 * @returns undefined where nobody asked under it
 * @throws RollcallError USAGE where several that were refused asked under it, and nobody else
 */
export function requestOfName<Request extends Named>(
  all: readonly Request[],
  clusterName: string,
): Request | undefined {
  const named = all.filter(({ spec }) => spec?.clusterName === clusterName);
  const holders = named.filter(({ status }) => !wasRefusedUnjudged(status));
  const [only, second] = holders.length > 0 ? holders : named;
  if (!second) return only;
  const ids = named.map(({ metadata }) => metadata.name).join(', ');
  throw new RollcallError('USAGE', `several clusters asked to join as "${clusterName}"; give an id: ${ids}`);
}

/**
 * The cluster that has a name, and the id that its request goes by. Not asked of a person who may see no clusters.
 * @throws KubeApiError
 */
export async function clusterOfName(
  client: Pick<KubeClient, 'get'>,
  name: string,
): Promise<{
  cluster: StoredObject<ManagedCluster & { metadata: object }> | undefined;
  id: string | undefined;
}> {
  const read = () => client.get<ManagedCluster & { metadata: object }>(resources.managedClusters, { name });
  const cluster = await read().catch((error: unknown) => {
    if (isForbidden(error)) return undefined;
    throw error;
  });
  const { clusterId, clientId } = cluster?.spec ?? {};
  return { cluster, id: clusterId ?? (clientId === undefined ? undefined : clusterIdOf(clientId)) };
}
