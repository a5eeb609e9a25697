import { secretKeyStore } from '@rollcall/agent';
import { RollcallError } from '@rollcall/shared/errors';
import {
  isAlreadyExists,
  type KubeClient,
  type KubeObject,
  resources,
  type StoredObject,
} from '@rollcall/shared/kubernetes';
import { type ManagedCluster, namespaces } from '@rollcall/shared/resources';
import { keyFingerprint, nkeyFromSeed } from '@rollcall/shared/trust';
import { onceServed } from '../hub-manifests.ts';

type Secret = KubeObject & { readonly type?: string; readonly data?: Readonly<Record<string, string>> };

/** What was moved, and what was left where it is, each as `namespace/name`. */
export interface MovedSecrets {
  readonly moved: readonly string[];
  /** Of a member that is in, and not with the key that the hub has let in: anybody who may write there can have laid it. */
  readonly left: readonly string[];
}

const keysOf = (clusterId: string) => `rollcall-agent-${clusterId}`;

/** Whether these are the keys of the member that is in, or those that it is just changing to. */
async function fits(
  client: KubeClient,
  { namespace, name }: { namespace: string; name: string },
  { spec, status }: ManagedCluster,
): Promise<boolean> {
  const state = await secretKeyStore(client, { namespace, name })
    .load()
    .catch((error: unknown) => {
      if (error instanceof RollcallError && error.code === 'AGENT_STATE_INVALID') return undefined;
      throw error;
    });
  if (!state || state.clusterId !== spec.clusterId) return false;
  return [state, ...(state.next ? [state.next] : [])].some(({ seed }) =>
    isSeedOf(seed, status?.keyFingerprint),
  );
}

function isSeedOf(seed: string, fingerprint: string | undefined): boolean {
  try {
    return keyFingerprint(nkeyFromSeed(seed).publicKey) === fingerprint;
  } catch {
    // Not a seed.
    return false;
  }
}

async function move(client: KubeClient, secret: StoredObject<Secret>, to: string): Promise<void> {
  const { apiVersion, kind, metadata, type, data } = secret;
  const { name, namespace, uid, labels = {}, annotations = {} } = metadata;
  const moved = { apiVersion, kind, metadata: { name, namespace: to, labels, annotations }, type, data };
  await client.create(resources.secrets, moved as Secret).catch((error: unknown) => {
    if (!isAlreadyExists(error)) throw error;
  });
  await client.delete(resources.secrets, name, { namespace, preconditions: { uid } });
}

/**
 * Moves kubeconfigs of members, and the keys of the agents that the hub runs for them, out of the namespace of tokens, where
 * they lay before each had a namespace of its own (ADR 19). Keys are moved only where they are those of the member that is in: whoever
 * may write beside the tokens could else be the member. What is in its new place already stays as it is there. Cut off in between,
 * the next call goes on.
 * @throws KubeApiError
 */
export async function moveMemberSecrets(client: KubeClient): Promise<MovedSecrets> {
  const secrets = await client.list<Secret>(resources.secrets, { namespace: namespaces.join });
  if (secrets.length === 0) return { moved: [], left: [] };
  const there = new Map(secrets.map((secret) => [secret.metadata.name, secret]));
  const clusters = await onceServed(() => client.list<ManagedCluster>(resources.managedClusters));
  const moved: string[] = [];
  const left: string[] = [];
  async function moveTo(namespace: string, name: string): Promise<void> {
    const found = there.get(name);
    if (!found) return;
    await move(client, found, namespace);
    moved.push(`${namespace}/${name}`);
  }

  for (const cluster of clusters) {
    const { clusterId, kubeconfigSecret } = cluster.spec;
    if (kubeconfigSecret === undefined) continue;
    // Of a member that is not in yet nobody's keys are good: the agent host makes them.
    const isIn = clusterId !== undefined && cluster.status?.keyFingerprint !== undefined;
    const keys = isIn ? [keysOf(clusterId), `${keysOf(clusterId)}.token`] : [];
    const lying = keys.filter((name) => there.has(name));
    const [name = ''] = keys;
    // Cut off in between, the keys are in their new place and the token is not.
    const namespace = there.has(name) ? namespaces.join : namespaces.agents;
    // The keys first: an agent that finds its kubeconfig without them asks as a stranger.
    if (lying.length > 0 && (await fits(client, { namespace, name }, cluster)))
      for (const one of lying) await moveTo(namespaces.agents, one);
    else left.push(...lying.map((one) => `${namespaces.join}/${one}`));
    await moveTo(namespaces.kubeconfigs, kubeconfigSecret);
  }
  return { moved, left };
}

/** What people are told of it. */
export function sayMoved({ moved, left }: MovedSecrets): string[] {
  return [
    ...moved.map((secret) => `moved to Secret ${secret}`),
    ...left.map(
      (secret) =>
        `left where it is: Secret ${secret} does not hold the key of its member that is in; remove it once you know who made it`,
    ),
  ];
}
