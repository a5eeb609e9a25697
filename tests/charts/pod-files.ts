import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type KubeClient, type KubeObject, resources } from '@rollcall/shared/kubernetes';

/** What is read of a source of files; anything else in it is refused. */
interface Source {
  readonly secret?: { readonly secretName?: string; readonly name?: string };
  readonly configMap?: { readonly name: string };
  readonly serviceAccountToken?: { readonly path: string; readonly expirationSeconds?: number };
  readonly downwardAPI?: { readonly items: readonly { path: string; fieldRef: { fieldPath: string } }[] };
}
export interface Volume extends Source {
  readonly name: string;
  /** Of a claim, which outlives the pod. */
  readonly directory?: string;
  readonly projected?: { readonly sources: readonly Source[] };
  readonly emptyDir?: object;
}
export interface PodIdentity {
  readonly name: string;
  readonly ip: string;
  readonly namespace: string;
  readonly uid: string;
  readonly serviceAccountName: string;
}
type Files = Readonly<Record<string, Buffer>>;

/** Content of a Secret or ConfigMap by key. @throws Error where there is none */
export async function readData(
  client: KubeClient,
  kind: 'secret' | 'configMap',
  where: { name: string; namespace: string },
): Promise<Files> {
  const resource = kind === 'secret' ? resources.secrets : resources.configMaps;
  const found = await client.get<KubeObject & { data?: Record<string, string> }>(resource, where);
  if (!found) throw new Error(`there is no ${kind} "${where.name}"`);
  const encoding = kind === 'secret' ? 'base64' : 'utf8';
  const entries = Object.entries(found.data ?? {});
  return Object.fromEntries(entries.map(([key, text]) => [key, Buffer.from(text, encoding)]));
}

/** A token as the kubelet asks for it: bound to its pod, so that it ends with it. */
async function tokenOf(client: KubeClient, pod: PodIdentity, expirationSeconds = 3600): Promise<Buffer> {
  const target = { name: pod.serviceAccountName, namespace: pod.namespace, subresource: 'token' };
  const boundObjectRef = { apiVersion: 'v1', kind: 'Pod', name: pod.name, uid: pod.uid };
  const answer = await client.createSubresource<{ status: { token: string } }>(
    resources.serviceAccounts,
    target,
    {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      spec: { expirationSeconds, boundObjectRef },
    },
  );
  return Buffer.from(answer.status.token);
}

async function filesOf(client: KubeClient, pod: PodIdentity, source: Source): Promise<Files> {
  const { secret, configMap, serviceAccountToken, downwardAPI } = source;
  const { namespace } = pod;
  if (secret) return readData(client, 'secret', { name: secret.secretName ?? secret.name ?? '', namespace });
  if (configMap) return readData(client, 'configMap', { name: configMap.name, namespace });
  if (serviceAccountToken) {
    const { path, expirationSeconds } = serviceAccountToken;
    return { [path]: await tokenOf(client, pod, expirationSeconds) };
  }
  // The one field that every pod is given.
  const items = downwardAPI?.items.filter(({ fieldRef }) => fieldRef.fieldPath === 'metadata.namespace');
  if (items?.length !== downwardAPI?.items.length || !items)
    throw new Error('a volume of a kind that is not provided here');
  return Object.fromEntries(items.map(({ path }) => [path, Buffer.from(namespace)]));
}

/**
 * Writes a volume of a pod as files.
 * @param options.placed - puts the paths that mounts have here into the place of those that the pod says
 */
export async function writeVolume(
  client: KubeClient,
  pod: PodIdentity,
  { volume, place, placed }: { volume: Volume; place: string; placed(text: string): string },
): Promise<void> {
  mkdirSync(place, { recursive: true });
  if (volume.emptyDir || volume.directory !== undefined) return;
  for (const source of volume.projected?.sources ?? [volume]) {
    for (const [path, content] of Object.entries(await filesOf(client, pod, source))) {
      mkdirSync(dirname(join(place, path)), { recursive: true });
      // Whole or not at all: it may be read meanwhile.
      writeFileSync(join(place, `${path}.next`), placed(content.toString('utf8')), { mode: 0o600 });
      renameSync(join(place, `${path}.next`), join(place, path));
    }
  }
}

type TokenSecret = KubeObject & { type?: string; data?: object };

/** What the controller manager of a whole cluster makes: root CAs, default accounts, and tokens that Secrets ask for. */
export async function asControllerManager(client: KubeClient, namespace: string): Promise<void> {
  const caPem = client.access.caPem ?? '';
  const where = { namespace };
  const metadata = { name: 'kube-root-ca.crt', namespace };
  const rootCa = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { 'ca.crt': caPem } };
  if (!(await client.get(resources.configMaps, metadata)))
    await client.create(resources.configMaps, rootCa, where);
  const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'default', namespace } };
  if (!(await client.get(resources.serviceAccounts, account.metadata)))
    await client.create<KubeObject>(resources.serviceAccounts, account, where);
  const asking = await client.list<TokenSecret>(resources.secrets, {
    ...where,
    fieldSelector: 'type=kubernetes.io/service-account-token',
  });
  for (const { data, metadata: of } of asking.filter((one) => one.data === undefined)) {
    const name = of.annotations?.['kubernetes.io/service-account.name'] ?? '';
    const target = { name, namespace, subresource: 'token' };
    const request = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} };
    const answer = await client.createSubresource<{ status: { token: string } }>(
      resources.serviceAccounts,
      target,
      request,
    );
    const filled = { ...data, token: answer.status.token, 'ca.crt': caPem, namespace };
    await client.mergePatch(resources.secrets, of.name, { stringData: filled }, where);
  }
}
