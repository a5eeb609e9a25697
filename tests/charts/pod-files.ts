import type { V1PodSpec, V1PodStatus, V1Volume, V1VolumeProjection } from '@kubernetes/client-node';
import {
  type KubeClient,
  type KubeObject,
  requestAccountToken,
  resources,
  type StoredObject,
} from '@rollcall/shared/kubernetes';

export type Pod = StoredObject<KubeObject<V1PodSpec, V1PodStatus>>;
/** Content by name. */
type Files = Readonly<Record<string, string>>;

/** @throws Error where there is no such object */
export async function readData(
  client: KubeClient,
  kind: 'secrets' | 'configMaps',
  { name = '', namespace }: { name?: string | undefined; namespace?: string | undefined },
): Promise<Files> {
  const found = await client.get<KubeObject & { data?: Files }>(resources[kind], { name, namespace });
  if (!found) throw new Error(`${kind.toLowerCase().slice(0, -1)} "${name}" not found`);
  const encoding = kind === 'secrets' ? 'base64' : 'utf8';
  const entries = Object.entries(found.data ?? {});
  return Object.fromEntries(entries.map(([key, text]) => [key, Buffer.from(text, encoding).toString()]));
}

/** What is in a volume, or in a part of one. */
export async function filesOf(
  client: KubeClient,
  { metadata: { name, uid, namespace }, spec }: Pod,
  source: V1Volume | V1VolumeProjection,
): Promise<Files> {
  const { secret, configMap } = source;
  if (secret && 'secretName' in secret)
    return readData(client, 'secrets', { name: secret.secretName, namespace });
  if (configMap) return readData(client, 'configMaps', { name: configMap.name, namespace });
  if ('serviceAccountToken' in source && source.serviceAccountToken) {
    const { path, expirationSeconds } = source.serviceAccountToken;
    const account = { name: spec?.serviceAccountName ?? 'default', namespace };
    // As the kubelet asks for it: bound to its pod, so that it ends with it.
    const boundObjectRef = { apiVersion: 'v1', kind: 'Pod', name, uid };
    const { token = '' } = await requestAccountToken(client, account, { expirationSeconds, boundObjectRef });
    return { [path]: token };
  }
  // The one field that the API server has every pod given.
  if (source.downwardAPI?.items?.every(({ path }) => path === 'namespace'))
    return { namespace: namespace ?? '' };
  throw new Error(`not provided here: a volume of ${Object.keys(source).join()}`);
}
