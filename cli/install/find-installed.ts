import { RollcallError } from '@rollcall/shared/errors';
import { rollcallVersion } from '@rollcall/shared/service/version';
import { type KubeClient, type KubeObject, resources } from '@rollcall/shared/kubernetes';
import { say } from '../terminal/output.ts';

/** What there is of an agent, or a hub, before anything is done. */
export interface Installed {
  /** Of the Deployment; undefined where there is none. */
  readonly version: string | undefined;
  /** Of its first container. */
  readonly image: string | undefined;
  /** Release of Helm that it belongs to, and how that stands (`deployed`, `uninstalling`, …). */
  readonly release: { readonly name: string; readonly status: string } | undefined;
  /** Pod Security level of the namespace; empty: it has none. Undefined: there is no such namespace. */
  readonly level: string | undefined;
}

type WithImage = KubeObject<{ template: { spec: { containers: { image: string }[] } } }>;

const levelLabel = 'pod-security.kubernetes.io/enforce';

type Reader = Pick<KubeClient, 'get' | 'list'>;
const versionOf = ({ metadata }: KubeObject) => Number(metadata.labels?.['version'] ?? 0);

/** As Helm keeps it; a release that Helm does not know any more has no claim on what is left of it. */
async function releaseOf(
  client: Reader,
  namespace: string,
  objects: readonly (KubeObject | undefined)[],
): Promise<Installed['release']> {
  const annotated = objects.map((one) => one?.metadata.annotations?.['meta.helm.sh/release-name']);
  const name = annotated.find((one) => one !== undefined);
  if (name === undefined) return undefined;
  const where = { namespace, labelSelector: `owner=helm,name=${name}` };
  const kept = await Promise.all([
    client.list<KubeObject>(resources.secrets, where),
    client.list<KubeObject>(resources.configMaps, where),
  ]);
  const newest = kept.flat().toSorted((one, other) => versionOf(other) - versionOf(one))[0];
  return newest && { name, status: newest.metadata.labels?.['status'] ?? 'unknown' };
}

/**
 * Looks at what is installed in a namespace.
 * @param where.name - of a Deployment and its ServiceAccount; of a release that is half removed, one of them may be left
 * @throws RollcallError NAMESPACE_TERMINATING while what was there is still being removed
 */
export async function findInstalled(
  client: Reader,
  { name, namespace }: { name: string; namespace: string },
): Promise<Installed> {
  const [found, account, place] = await Promise.all([
    client.get<WithImage>(resources.deployments, { name, namespace }),
    client.get<KubeObject>(resources.serviceAccounts, { name, namespace }),
    client.get<KubeObject>(resources.namespaces, { name: namespace }),
  ]);
  if (place?.metadata.deletionTimestamp !== undefined) {
    throw new RollcallError('NAMESPACE_TERMINATING', `namespace ${namespace} is still being deleted`);
  }
  return {
    image: found?.spec?.template.spec.containers[0]?.image,
    version: found?.metadata.labels?.['app.kubernetes.io/version'],
    release: await releaseOf(client, namespace, [found, account]),
    level: place && (place.metadata.labels?.[levelLabel] ?? ''),
  };
}

/** Whoever gives an image of their own goes on with the same version of the chart. @param image - that is to run */
export function sayVersions({ version, image: runs }: Installed, image: string): void {
  if (version === undefined) return;
  const isSame = runs === image || runs === undefined;
  const [now, next] = isSame ? ['', ''] : [` (image ${runs})`, ` (image ${image})`];
  say(`[preflight] installed: version ${version}${now}, to become ${rollcallVersion}${next}`);
}

/** The namespace is given the strictest level, whatever it has: other pods in it may have needed that. */
export function sayOtherLevel({ level }: Installed, namespace: string): void {
  if (level === undefined || level === 'restricted') return;
  const has = level === '' ? 'no Pod Security level' : `Pod Security level "${level}"`;
  say(`[preflight] namespace ${namespace} has ${has}; it is to have "restricted", which our pods fit`);
}

/**
 * Two that install the same objects undo each other's changes.
 * @throws RollcallError INSTALLED_BY_HELM
 */
export function refuseHelm({ release }: Installed, namespace: string): void {
  if (release === undefined) return;
  const { name, status } = release;
  const stands = status === 'deployed' ? '' : `, which is ${status}`;
  throw new RollcallError(
    'INSTALLED_BY_HELM',
    `what is in namespace ${namespace} belongs to release "${name}" of Helm${stands}`,
  );
}
