import { RollcallError } from '@rollcall/shared/errors';
import {
  isConflict,
  KubeApiError,
  type KubeClient,
  type KubeObject,
  resources,
} from '@rollcall/shared/kubernetes';
import { isMembers, type Member, memberName } from './member-objects.ts';

/**
 * Ends every access token of a member: a token names the UID of its ServiceAccount, so it ends with that object, whatever is
 * made under the same name afterwards. An API server that has just seen the token takes it for up to 10 s more.
 * @throws RollcallError ACCESS_NOT_REMOVED when the API server refuses: rights that stay must never end as a dead letter
 */
export async function withdrawTokens(
  kube: Pick<KubeClient, 'get' | 'delete'>,
  member: Member,
): Promise<void> {
  const { namespace } = member;
  try {
    const found = await kube.get<KubeObject>(resources.serviceAccounts, { name: memberName, namespace });
    if (!found || !isMembers(found, member)) return;
    const { uid } = found.metadata;
    await kube.delete(resources.serviceAccounts, memberName, { namespace, preconditions: { uid } });
  } catch (error) {
    // Another object by now: somebody was faster.
    if (isConflict(error)) return;
    if (!(error instanceof KubeApiError) || error.retry) throw error;
    throw new RollcallError('ACCESS_NOT_REMOVED', error.message, { cause: error });
  }
}
