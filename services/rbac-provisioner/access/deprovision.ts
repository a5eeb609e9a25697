import { RollcallError } from '@rollcall/shared/errors';
import type { Decision } from '@rollcall/shared/events';
import { isConflict, KubeApiError, type KubeClient, resources } from '@rollcall/shared/kubernetes';
import type { Member } from './member-access-objects.ts';
import { whatIsIn } from './namespace-contents.ts';
import { removeAccount } from './remove-account.ts';

type Kube = Pick<KubeClient, 'create' | 'get' | 'delete' | 'listPage' | 'raw'>;

/** `stays`: why a namespace was not deleted that would have been if it were empty. */
export interface Deprovisioned {
  readonly stays?: string;
}

async function takeAway(
  kube: Kube,
  member: Member,
  namespacePolicy: Decision['namespacePolicy'],
): Promise<Deprovisioned> {
  const { namespace } = member;
  const found = await removeAccount(kube, member);
  if (!found || found.metadata.deletionTimestamp || namespacePolicy === 'Keep') return {};
  const stays = namespacePolicy === 'DeleteWhenEmpty' ? await whatIsIn(kube, namespace) : undefined;
  if (stays !== undefined) return { stays };
  try {
    const { uid } = found.metadata;
    await kube.delete(resources.namespaces, namespace, { preconditions: { uid } });
  } catch (error) {
    // Another object of that name by now, or one that is going already.
    if (!isConflict(error)) throw error;
  }
  return {};
}

/**
 * Takes the member's rights away, and its namespace as `namespacePolicy` says. A namespace without our label for this very
 * cluster is not touched. Done means: RoleBinding and ServiceAccount are gone and the API server has accepted the deletion of the
 * namespace; Kubernetes may take minutes to empty it, and nothing in it gives anybody a right meanwhile.
 * @returns with `DeleteWhenEmpty`, why the namespace was not deleted
 * @throws RollcallError ACCESS_NOT_REMOVED when the API server refuses: rights that stay must never end as a dead letter
 */
export async function deprovision(
  kube: Kube,
  member: Member,
  namespacePolicy: Decision['namespacePolicy'],
): Promise<Deprovisioned> {
  try {
    return await takeAway(kube, member, namespacePolicy);
  } catch (error) {
    if (!(error instanceof KubeApiError) || error.retry) throw error;
    throw new RollcallError('ACCESS_NOT_REMOVED', error.message, { cause: error });
  }
}
