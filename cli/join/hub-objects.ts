import type { HubInfo } from '@rollcall/shared/hub';
import { apiVersionOf, type KubeClient, type KubeObject, resources } from '@rollcall/shared/kubernetes';
import { labels, madeByJoin, type ManagedCluster, namespaces } from '@rollcall/shared/resources';
import { createRegistrationToken } from '@rollcall/shared/trust';
import type { Mode } from './member-account.ts';

type Secret = KubeObject & { readonly stringData: Readonly<Record<string, string>>; readonly type: string };

export interface Joining {
  readonly name: string;
  readonly clusterId: string;
  readonly mode: Mode;
  readonly labels: Readonly<Record<string, string>>;
  readonly clusterSet: string | undefined;
  readonly clusterType: 'Standard' | 'Edge';
}

const namespace = namespaces.join;
/** As Cluster API names them. */
export const kubeconfigSecretOf = (name: string) => `${name}-kubeconfig`;
const tokenName = (name: string) => `join-${name}`;

function clusterObject({ name, clusterId, mode, labels: own, clusterSet, clusterType }: Joining): KubeObject {
  return {
    apiVersion: apiVersionOf(resources.managedClusters),
    kind: resources.managedClusters.kind,
    metadata: {
      name,
      labels: { ...own, ...(clusterSet === undefined ? {} : { [labels.clusterSet]: clusterSet }) },
    },
    spec: { clusterId, clusterType, mode, kubeconfigSecret: kubeconfigSecretOf(name) },
  } as KubeObject;
}

/** Whether the hub would take the cluster: rights, name and fence. @throws KubeApiError */
export async function checkHubTakes(client: KubeClient, joining: Joining): Promise<void> {
  await client.create(resources.managedClusters, clusterObject(joining), { dryRun: true, strict: true });
}

/** Takes away what `rollcall join` made on the hub for one member; what is not there, or is somebody else's, is left alone. */
export async function forgetMember(client: KubeClient, name: string): Promise<void> {
  const secret = kubeconfigSecretOf(name);
  const found = await client.get(resources.secrets, { name: secret, namespace });
  if (found?.metadata.labels?.[labels.createdBy] !== madeByJoin) return;
  await client.delete(resources.clusterRegistrationTokens, tokenName(name), { namespace });
  await client.delete(resources.secrets, secret, { namespace, preconditions: { uid: found.metadata.uid } });
}

/**
 * Makes what has the hub reach the member: a token for this very cluster, the Secret with it and the kubeconfig, and the cluster,
 * which comes last because with it the hub begins.
 * @throws KubeApiError; nothing of it stays then
 */
export async function makeHubObjects(
  client: KubeClient,
  joining: Joining,
  { hub, kubeconfig }: { hub: HubInfo; kubeconfig: string },
): Promise<void> {
  const { name } = joining;
  const token = createRegistrationToken(hub.hubId);
  const secret: Secret = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      name: kubeconfigSecretOf(name),
      namespace,
      labels: { [labels.createdBy]: madeByJoin },
    },
    type: 'Opaque',
    stringData: {
      value: kubeconfig,
      token: token.text,
      hub: hub.addresses.join(','),
      caBundle: hub.caPem,
    },
  };
  await client.create(resources.secrets, secret, { namespace });
  try {
    await client.create(
      resources.clusterRegistrationTokens,
      {
        apiVersion: apiVersionOf(resources.clusterRegistrationTokens),
        kind: resources.clusterRegistrationTokens.kind,
        metadata: { name: tokenName(name), namespace },
        spec: {
          publicKey: token.key.publicKey,
          uses: 1,
          ttl: '24h',
          clusterName: name,
          description: 'made by rollcall join',
        },
      } as KubeObject,
      { namespace, strict: true },
    );
    await client.create<ManagedCluster>(resources.managedClusters, clusterObject(joining) as ManagedCluster, {
      strict: true,
    });
  } catch (error) {
    await forgetMember(client, name).catch(() => undefined);
    throw error;
  }
}
