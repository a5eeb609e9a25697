import { RollcallError } from '@rollcall/shared/errors';
import { type KubeClient, type KubeObject, resources, type StoredObject } from '@rollcall/shared/kubernetes';

export interface RequestSpec {
  readonly clusterId: string;
  readonly clusterName: string;
  readonly keyFingerprint: string;
  readonly knownKeyFingerprint?: string;
  readonly decision?: {
    readonly verdict: string;
    readonly keyFingerprint?: string;
    readonly reason?: string;
  };
}
export interface RequestStatus {
  readonly result?: string;
  readonly reason?: string;
  readonly message?: string;
  readonly policy?: string;
  readonly by?: string;
  readonly errorMessage?: string;
  readonly observed?: { readonly epoch: number; readonly sequence: number };
}
export type RequestObject = KubeObject<RequestSpec, RequestStatus>;
export type StoredRequest = StoredObject<RequestObject> & { readonly spec: RequestSpec };

function hasSpec(object: StoredObject<RequestObject>): object is StoredRequest {
  return object.spec !== undefined;
}

/**
 * Finds a request by its id, or by the name of the cluster where only one asks under it.
 * @throws RollcallError NOT_FOUND; USAGE where a name is not enough
 */
export async function findRequest(
  client: Pick<KubeClient, 'get' | 'list'>,
  target: string,
): Promise<StoredRequest> {
  const resource = resources.clusterRegistrationRequests;
  const byId = await client.get<RequestObject>(resource, { name: target });
  if (byId && hasSpec(byId)) return byId;
  const all = (await client.list<RequestObject>(resource)).filter(hasSpec);
  const named = all.filter(({ spec }) => spec.clusterName === target);
  const [first, second] = named;
  if (!first) throw new RollcallError('NOT_FOUND', `no request has the id or the cluster name "${target}"`);
  if (!second) return first;
  const ids = named.map(({ metadata }) => metadata.name).join(', ');
  throw new RollcallError('USAGE', `several clusters asked to join as "${target}"; give an id: ${ids}`);
}
