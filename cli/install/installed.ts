import { RollcallError } from '@rollcall/shared/errors';
import { type KubeClient, type KubeObject, resources } from '@rollcall/shared/kubernetes';

/** What there is of an agent, or a hub, before anything is done. */
export interface Installed {
  /** Of the Deployment; undefined where there is none. */
  readonly version: string | undefined;
  /** Release of Helm that it belongs to. */
  readonly release: string | undefined;
}

/**
 * Looks at what is installed in a namespace.
 * @throws RollcallError NAMESPACE_TERMINATING while what was there is still being removed
 */
export async function findInstalled(
  client: Pick<KubeClient, 'get'>,
  { name, namespace }: { name: string; namespace: string },
): Promise<Installed> {
  const [found, place] = await Promise.all([
    client.get<KubeObject>(resources.deployments, { name, namespace }),
    client.get(resources.namespaces, { name: namespace }),
  ]);
  if (place?.metadata.deletionTimestamp !== undefined) {
    throw new RollcallError('NAMESPACE_TERMINATING', `namespace ${namespace} is still being deleted`);
  }
  const { labels = {}, annotations = {} } = found?.metadata ?? {};
  return {
    version: labels['app.kubernetes.io/version'],
    release: annotations['meta.helm.sh/release-name'],
  };
}

/**
 * Two that install the same objects undo each other's changes.
 * @throws RollcallError INSTALLED_BY_HELM
 */
export function refuseHelm({ release }: Installed, namespace: string): void {
  if (release === undefined) return;
  throw new RollcallError(
    'INSTALLED_BY_HELM',
    `what is in namespace ${namespace} belongs to release "${release}" of Helm`,
  );
}
