import { createHash } from 'node:crypto';
import { RollcallError } from '@rollcall/shared/errors';
import type { HubInfo } from '@rollcall/shared/hub';
import {
  apiVersionOf,
  isAlreadyExists,
  type KubeClient,
  type KubeObject,
  resources,
  type StoredObject,
} from '@rollcall/shared/kubernetes';
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

const { join: tokenNamespace, kubeconfigs: namespace } = namespaces;
/** As Cluster API names them. */
export const kubeconfigSecretOf = (name: string) => `${name}-kubeconfig`;

const maxNameLength = 63;

/** A cluster's name may be as long as that of a token, so a long one is cut, and told from others by its digest. */
function tokenName(name: string): string {
  const whole = `join-${name}`;
  if (whole.length <= maxNameLength) return whole;
  const digest = createHash('sha256').update(name).digest('hex').slice(0, 8);
  return `${whole.slice(0, maxNameLength - digest.length - 1)}-${digest}`;
}

function secretObject(name: string, stringData: Secret['stringData']): Secret {
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      name: kubeconfigSecretOf(name),
      namespace,
      labels: { [labels.createdBy]: madeByJoin },
    },
    type: 'Opaque',
    stringData,
  };
}

/** It gives the set too: a predefined cluster of a set is let in by no policy with a token that does not. */
function tokenObject({ name, clusterSet }: Joining, publicKey: string): KubeObject {
  return {
    apiVersion: apiVersionOf(resources.clusterRegistrationTokens),
    kind: resources.clusterRegistrationTokens.kind,
    metadata: { name: tokenName(name), namespace: tokenNamespace },
    spec: {
      publicKey,
      uses: 1,
      ttl: '24h',
      clusterName: name,
      ...(clusterSet === undefined ? {} : { clusterSet }),
      description: 'made by rollcall join',
    },
  } as KubeObject;
}

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

/** What an earlier `rollcall join` of the same member has left undone: it did not see the cluster become Ready. */
export type Begun = 'nothing' | 'all of it' | 'taking the account away';

async function earlierJoin(client: KubeClient, { name, clusterId, mode }: Joining): Promise<Begun> {
  const cluster = await client.get<ManagedCluster>(resources.managedClusters, { name });
  if (!cluster || cluster.metadata.deletionTimestamp !== undefined) return 'nothing';
  const { spec, status } = cluster;
  const isSame = spec.clusterId === clusterId && spec.mode === mode;
  if (!isSame || spec.kubeconfigSecret !== kubeconfigSecretOf(name)) return 'nothing';
  const isReady = status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True');
  // The Secret of a Push cluster stays.
  if ((isReady && mode === 'Push') || !(await ownSecret(client, name))) return 'nothing';
  return isReady ? 'taking the account away' : 'all of it';
}

/**
 * Whether the hub would take all that is made for the cluster: rights, names and admission.
 * @returns what is begun already, and only to be waited for or ended
 * @throws RollcallError ID_TAKEN, NAME_TAKEN, CLUSTER_LEAVING; KubeApiError
 */
export async function checkHubTakes(client: KubeClient, joining: Joining, hubId: string): Promise<Begun> {
  const how = { dryRun: true, strict: true };
  const labelSelector = `${labels.clusterId}=${joining.clusterId}`;
  const [same] = await client.list<ManagedCluster>(resources.managedClusters, { labelSelector });
  if (same?.metadata.deletionTimestamp !== undefined)
    throw new RollcallError(
      'CLUSTER_LEAVING',
      `the member is leaving the hub, as cluster "${same.metadata.name}"`,
    );
  if (same) {
    const isSameName = same.metadata.name === joining.name;
    const begun = isSameName ? await earlierJoin(client, joining) : 'nothing';
    if (begun !== 'nothing') return begun;
    throw new RollcallError(
      'ID_TAKEN',
      isSameName
        ? `the member is registered already, as this cluster: "${joining.name}"`
        : `the hub has this member already, as cluster "${same.metadata.name}"`,
    );
  }
  try {
    await client.create(resources.managedClusters, clusterObject(joining), how);
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    const begun = await earlierJoin(client, joining);
    if (begun !== 'nothing') return begun;
    const message = `the hub has a cluster "${joining.name}" already`;
    throw new RollcallError('NAME_TAKEN', message, { cause: error });
  }
  const { publicKey } = createRegistrationToken(hubId).key;
  await client.create(resources.secrets, secretObject(joining.name, {}), { namespace, ...how });
  const token = tokenObject(joining, publicKey);
  await client.create(resources.clusterRegistrationTokens, token, how);
  return 'nothing';
}

async function ownSecret(client: KubeClient, name: string): Promise<StoredObject | undefined> {
  const found = await client.get(resources.secrets, {
    name: kubeconfigSecretOf(name),
    namespace,
  });
  return found?.metadata.labels?.[labels.createdBy] === madeByJoin ? found : undefined;
}

/**
 * Gives the hub a kubeconfig that works from now on: the account's token may have ended while nobody waited.
 * @throws KubeApiError
 */
export async function renewKubeconfig(client: KubeClient, name: string, kubeconfig: string): Promise<void> {
  // Not made anew: the hub would find none in between, and the token in it is still to be used.
  const patch = { stringData: { value: kubeconfig } };
  await client.mergePatch(resources.secrets, kubeconfigSecretOf(name), patch, { namespace });
}

/** Takes back the token that `rollcall join` made for a member, so that an agent which is on its way is not let in. */
export async function withdrawToken(client: KubeClient, name: string): Promise<void> {
  if (await ownSecret(client, name)) await deleteToken(client, name);
}

const deleteToken = (client: KubeClient, name: string) =>
  client.delete(resources.clusterRegistrationTokens, tokenName(name), { namespace: tokenNamespace });

/** Takes away what `rollcall join` made on the hub for one member; what is not there, or is somebody else's, is left alone. */
export async function forgetMember(client: KubeClient, name: string): Promise<void> {
  const found = await ownSecret(client, name);
  if (!found) return;
  await deleteToken(client, name);
  await client.delete(resources.secrets, kubeconfigSecretOf(name), {
    namespace,
    preconditions: { uid: found.metadata.uid },
  });
}

/**
 * Takes back a join that the hub refused for good: the cluster, which is none, and what was made for it. What is in the member
 * stays: the cluster that has the member may live by it.
 * @param uid - of the cluster that was refused; another one of its name is left alone
 * @throws KubeApiError
 */
export async function takeBack(
  client: KubeClient,
  { name, uid }: { readonly name: string; readonly uid: string },
): Promise<void> {
  await client.delete(resources.managedClusters, name, { preconditions: { uid } });
  await forgetMember(client, name);
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
  const secret = secretObject(name, {
    value: kubeconfig,
    token: token.text,
    hub: hub.addresses.join(','),
    caBundle: hub.caPem,
  });
  await client.create(resources.secrets, secret, { namespace });
  try {
    const ofMember = tokenObject(joining, token.key.publicKey);
    await client.create(resources.clusterRegistrationTokens, ofMember, { strict: true });
    await client.create<ManagedCluster>(resources.managedClusters, clusterObject(joining) as ManagedCluster, {
      strict: true,
    });
  } catch (error) {
    await forgetMember(client, name).catch(() => undefined);
    throw error;
  }
}
