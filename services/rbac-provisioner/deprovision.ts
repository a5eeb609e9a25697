import { RollcallError } from '@rollcall/shared/errors';
import type { Decision } from '@rollcall/shared/events';
import {
  isConflict,
  isForbidden,
  KubeApiError,
  type KubeClient,
  type KubeObject,
  type Resource,
  resources,
} from '@rollcall/shared/kubernetes';
import { allArrived } from './all-arrived.ts';
import { isMembers, type Member, memberName } from './member-objects.ts';

type Kube = Pick<KubeClient, 'get' | 'delete' | 'listPage'>;

const inNamespace = (plural: string, kind: string): Resource => ({
  group: '',
  version: 'v1',
  plural,
  kind,
  namespaced: true,
});
/** What a person would miss. Secrets are not looked at: a right to list them would be a right to read them. */
const whatCounts = [
  inNamespace('pods', 'Pod'),
  inNamespace('persistentvolumeclaims', 'PersistentVolumeClaim'),
  resources.configMaps,
] as const;
/** Kubernetes puts it into every namespace. */
const ownConfigMap = 'kube-root-ca.crt';

/** Not being allowed to look is a "no": in doubt a namespace stays. */
async function isEmpty(kube: Kube, namespace: string): Promise<boolean> {
  try {
    const pages = await Promise.all(
      whatCounts.map((resource) => kube.listPage<KubeObject>(resource, { namespace, limit: 2 })),
    );
    return pages.every(({ items }) => items.every(({ metadata }) => metadata.name === ownConfigMap));
  } catch (error) {
    if (isForbidden(error)) return false;
    throw error;
  }
}

async function mayGo(kube: Kube, member: Member, policy: Decision['namespacePolicy']): Promise<boolean> {
  return policy === 'Delete' || (policy === 'DeleteWhenEmpty' && (await isEmpty(kube, member.namespace)));
}

async function takeAway(
  kube: Kube,
  member: Member,
  namespacePolicy: Decision['namespacePolicy'],
): Promise<void> {
  const { namespace } = member;
  const found = await kube.get<KubeObject>(resources.namespaces, { name: namespace });
  // Gone, or never ours: then there is nothing of ours in it.
  if (!found || !isMembers(found, member)) return;
  await allArrived([
    kube.delete(resources.roleBindings, memberName, { namespace }),
    kube.delete(resources.serviceAccounts, memberName, { namespace }),
  ]);
  if (found.metadata.deletionTimestamp || !(await mayGo(kube, member, namespacePolicy))) return;
  try {
    const { uid } = found.metadata;
    await kube.delete(resources.namespaces, namespace, { preconditions: { uid } });
  } catch (error) {
    // Another object of that name by now, or one that is going already.
    if (!isConflict(error)) throw error;
  }
}

/**
 * Takes the member's rights away, and its namespace as `namespacePolicy` says. Only what carries our label for this very
 * cluster is touched. Done means: RoleBinding and ServiceAccount are gone and the API server has accepted the deletion of the
 * namespace; Kubernetes may take minutes to empty it, and nothing in it gives anybody a right meanwhile.
 * @throws RollcallError ACCESS_NOT_REMOVED when the API server refuses: rights that stay must never end as a dead letter
 */
export async function deprovision(
  kube: Kube,
  member: Member,
  namespacePolicy: Decision['namespacePolicy'],
): Promise<void> {
  try {
    await takeAway(kube, member, namespacePolicy);
  } catch (error) {
    if (!(error instanceof KubeApiError) || error.retry) throw error;
    throw new RollcallError('ACCESS_NOT_REMOVED', error.message, { cause: error });
  }
}
