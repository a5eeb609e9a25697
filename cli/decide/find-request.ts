import { RollcallError } from '@rollcall/shared/errors';
import { type KubeClient, type KubeObject, resources, type StoredObject } from '@rollcall/shared/kubernetes';
import { clusterOfName, requestOfWord } from '../request-of-name.ts';

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
 * Finds the request that a person means. A name means the cluster that has it, or else the one that waits for it, whatever strangers
 * asked for and called themselves; only a word that is nobody's name is an id.
 * @param how.command - what was typed, for who has to type something else
 * @throws RollcallError NOT_FOUND; USAGE where the word could mean several
 */
export async function findRequest(
  client: Pick<KubeClient, 'get' | 'list'>,
  target: string,
  how: { command: string; isId: boolean },
): Promise<StoredRequest> {
  const resource = resources.clusterRegistrationRequests;
  const ofId = async (name: string) => {
    const found = await client.get<RequestObject>(resource, { name });
    return found && hasSpec(found) ? found : undefined;
  };
  const { id } = how.isId ? { id: target } : await clusterOfName(client, target);
  const ofCluster = id === undefined ? undefined : await ofId(id);
  if (ofCluster) return ofCluster;
  if (how.isId) throw new RollcallError('NOT_FOUND', `no request has the id "${target}"`);
  const all = (await client.list<RequestObject>(resource)).filter(hasSpec);
  // Who has the same word as an id is another cluster than the one that has the name.
  const others = id === undefined ? all : all.filter(({ spec }) => spec.clusterName === target);
  const meant = requestOfWord(others, target, how.command);
  if (!meant) throw new RollcallError('NOT_FOUND', `no request has the id or the cluster name "${target}"`);
  return meant;
}
