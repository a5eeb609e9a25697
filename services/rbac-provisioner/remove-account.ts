import { RollcallError } from '@rollcall/shared/errors';
import {
  isConflict,
  KubeApiError,
  type KubeClient,
  type KubeObject,
  type Resource,
  resources,
} from '@rollcall/shared/kubernetes';
import { allArrived } from './all-arrived.ts';
import { isMembers, type Member, memberName } from './member-objects.ts';

type IsMembers = (found: KubeObject, member: Member) => boolean;

async function removeOurs(
  kube: Pick<KubeClient, 'get' | 'delete'>,
  resource: Resource,
  { member, isTheirs }: { member: Member; isTheirs: IsMembers },
): Promise<void> {
  const { namespace } = member;
  const found = await kube.get<KubeObject>(resource, { name: memberName, namespace });
  if (!found || !isTheirs(found, member)) return;
  const { uid } = found.metadata;
  try {
    await kube.delete(resource, memberName, { namespace, preconditions: { uid } });
  } catch (error) {
    // Another object by now: somebody was faster.
    if (!isConflict(error)) throw error;
  }
}

/**
 * Takes away what gives a member rights in its namespace, and with it every access token: a token names the UID of its
 * ServiceAccount, so it ends with that object, whatever is made under the same name afterwards. An API server that has just seen
 * the token takes it for up to 10 s more.
 * @param isTheirs - what is the member's; default: what we made for it
 * @throws RollcallError ACCESS_NOT_REMOVED when the API server refuses: rights that stay must never end as a dead letter
 */
export async function removeAccount(
  kube: Pick<KubeClient, 'get' | 'delete'>,
  member: Member,
  isTheirs: IsMembers = isMembers,
): Promise<void> {
  const whose = { member, isTheirs };
  try {
    await allArrived([
      removeOurs(kube, resources.roleBindings, whose),
      removeOurs(kube, resources.serviceAccounts, whose),
    ]);
  } catch (error) {
    if (!(error instanceof KubeApiError) || error.retry) throw error;
    throw new RollcallError('ACCESS_NOT_REMOVED', error.message, { cause: error });
  }
}
