import { RollcallError } from '@rollcall/shared/errors';
import {
  isConflict,
  KubeApiError,
  type KubeClient,
  type KubeObject,
  type Resource,
  resources,
  type StoredObject,
} from '@rollcall/shared/kubernetes';
import { labels } from '@rollcall/shared/resources';
import { allArrived } from './all-arrived.ts';
import { isMembers, type Member, memberName } from './member-access-objects.ts';

type Kube = Pick<KubeClient, 'get' | 'delete'>;

async function remove(kube: Kube, resource: Resource, found: StoredObject | undefined): Promise<void> {
  if (!found) return;
  const { namespace, uid } = found.metadata;
  try {
    await kube.delete(resource, memberName, { namespace, preconditions: { uid } });
  } catch (error) {
    // Another object by now: somebody was faster.
    if (!isConflict(error)) throw error;
  }
}

async function removeIn(kube: Kube, member: Member): Promise<StoredObject | undefined> {
  const { namespace } = member;
  const where = { name: memberName, namespace };
  // Before the namespace: what was there first, and still is when it is deleted, lay in the namespace that is looked at in between,
  // and not in the one of the next cluster of that name. Its labels are not asked, because who may write it could keep its rights so.
  const [binding, account] = await Promise.all([
    kube.get<KubeObject>(resources.roleBindings, where),
    kube.get<KubeObject>(resources.serviceAccounts, where),
  ]);
  const found = await kube.get<KubeObject>(resources.namespaces, { name: namespace });
  // By the cluster's own label alone, as the admission policies do: where somebody took the other one off, the rights go all the same.
  if (found?.metadata.labels?.[labels.clusterId] !== member.clusterId) return undefined;
  await allArrived([
    remove(kube, resources.roleBindings, binding),
    remove(kube, resources.serviceAccounts, account),
  ]);
  return isMembers(found, member) ? found : undefined;
}

/**
 * Takes away what gives a member rights in its namespace, and with it every access token: a token names the UID of its
 * ServiceAccount, so it ends with that object, whatever is made under the same name afterwards. An API server that has just seen
 * the token takes it for up to 10 s more.
 * @returns the namespace; undefined where it is gone, or is not ours to delete
 * @throws RollcallError ACCESS_NOT_REMOVED when the API server refuses: rights that stay must never end as a dead letter
 */
export async function removeAccount(kube: Kube, member: Member): Promise<StoredObject | undefined> {
  try {
    return await removeIn(kube, member);
  } catch (error) {
    if (!(error instanceof KubeApiError) || error.retry) throw error;
    throw new RollcallError('ACCESS_NOT_REMOVED', error.message, { cause: error });
  }
}
