import { RollcallError } from '@rollcall/shared/errors';
import { type KubeClient, type KubeObject, resources, type StoredObject } from '@rollcall/shared/kubernetes';
import { clusterOfName, requestOfName } from '../request-of-name.ts';

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
 * Finds a request by the name of its cluster, or by its id. A name means the cluster that has it, whoever else asked by it, and also
 * where a stranger chose that name as an id.
 * @throws RollcallError NOT_FOUND; USAGE where a name is not enough
 */
export async function findRequest(
  client: Pick<KubeClient, 'get' | 'list'>,
  target: string,
): Promise<StoredRequest> {
  const resource = resources.clusterRegistrationRequests;
  const { id } = await clusterOfName(client, target);
  for (const name of id === undefined ? [target] : [id, target]) {
    const found = await client.get<RequestObject>(resource, { name });
    if (found && hasSpec(found)) return found;
  }
  const all = (await client.list<RequestObject>(resource)).filter(hasSpec);
  const named = requestOfName(all, target);
  if (!named) throw new RollcallError('NOT_FOUND', `no request has the id or the cluster name "${target}"`);
  return named;
}
