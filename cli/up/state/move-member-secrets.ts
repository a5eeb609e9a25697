import {
  isAlreadyExists,
  type KubeClient,
  type KubeObject,
  resources,
  type StoredObject,
} from '@rollcall/shared/kubernetes';
import { type ManagedCluster, namespaces } from '@rollcall/shared/resources';
import { onceServed } from '../hub-manifests.ts';

type Secret = KubeObject & { readonly type?: string; readonly data?: Readonly<Record<string, string>> };

/** What the Secrets of a member were called where they lay beside the tokens, and where each belongs now. */
function placesOf({ spec, status }: ManagedCluster): readonly (readonly [name: string, namespace: string])[] {
  const { clusterId, kubeconfigSecret } = spec;
  if (kubeconfigSecret === undefined) return [];
  const isIn = clusterId !== undefined && status?.keyFingerprint !== undefined;
  // Of a member that is not in yet nobody's keys are good: the agent host makes them.
  const keys = isIn ? [`rollcall-agent-${clusterId}`, `rollcall-agent-${clusterId}.token`] : [];
  // The keys first: an agent that finds its kubeconfig without them asks as a stranger.
  return [
    ...keys.map((name) => [name, namespaces.agents] as const),
    [kubeconfigSecret, namespaces.kubeconfigs] as const,
  ];
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
 * they lay before each had a namespace of its own (ADR 19). What is in its new place already stays as it is there. Cut off in between, the next call goes on.
 * @returns what was moved, as `namespace/name`
 * @throws KubeApiError
 */
export async function moveMemberSecrets(client: KubeClient): Promise<readonly string[]> {
  const secrets = await client.list<Secret>(resources.secrets, { namespace: namespaces.join });
  if (secrets.length === 0) return [];
  const there = new Map(secrets.map((secret) => [secret.metadata.name, secret]));
  const clusters = await onceServed(() => client.list<ManagedCluster>(resources.managedClusters));
  const moved: string[] = [];
  for (const cluster of clusters)
    for (const [name, namespace] of placesOf(cluster)) {
      const found = there.get(name);
      if (!found) continue;
      await move(client, found, namespace);
      moved.push(`${namespace}/${name}`);
    }
  return moved;
}
