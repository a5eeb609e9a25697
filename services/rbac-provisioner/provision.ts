import { isDeepStrictEqual } from 'node:util';
import { type ErrorCode, RollcallError } from '@rollcall/shared/errors';
import {
  isAlreadyExists,
  isForbidden,
  isInvalid,
  isNotFound,
  type KubeApiError,
  type KubeClient,
  type KubeObject,
  type Resource,
  resources,
} from '@rollcall/shared/kubernetes';
import {
  isMembers,
  type Member,
  memberName,
  memberNamespace,
  memberRoleBinding,
  memberServiceAccount,
  type RoleBinding,
} from './member-objects.ts';
import { allArrived } from './all-arrived.ts';
import { isReservedNamespace } from './reserved-namespace.ts';

/** Why it cannot be made, where trying again would not help; `reason` is the event's. */
export interface ProvisionFailure {
  readonly reason: 'NamespaceTaken' | 'NamespaceReserved' | 'ObjectTaken' | 'Refused';
  readonly code: ErrorCode;
  readonly message: string;
}

/** What became of it: why it cannot be, or that it is there, and whether the last of it was made just now. */
export type Provisioned = { readonly failure: ProvisionFailure } | { readonly isNew: boolean };

type Kube = Pick<KubeClient, 'create' | 'get'>;

function failure(reason: ProvisionFailure['reason'], code: ErrorCode, message: string): Provisioned {
  return { failure: { reason, code, message } };
}

function terminating(namespace: string, cause?: unknown): RollcallError {
  return new RollcallError('NAMESPACE_TERMINATING', `the namespace "${namespace}" is being deleted`, {
    cause,
  });
}

/** Creating first and looking only when it is there makes no read in the normal case. */
async function createOrFind(
  kube: Kube,
  resource: Resource,
  object: KubeObject,
): Promise<{ found: KubeObject | undefined; isNew: boolean }> {
  try {
    return { found: await kube.create(resource, object), isNew: true };
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    const { name = '', namespace } = object.metadata;
    return { found: await kube.get<KubeObject>(resource, { name, namespace }), isNew: false };
  }
}

function bindsOnlyThe(member: Member, found: RoleBinding): boolean {
  const wanted = memberRoleBinding(member);
  return (
    isDeepStrictEqual(found.roleRef, wanted.roleRef) && isDeepStrictEqual(found.subjects, wanted.subjects)
  );
}

async function makeNamespace(kube: Kube, member: Member): Promise<Provisioned> {
  const { namespace } = member;
  const { found, isNew } = await createOrFind(kube, resources.namespaces, memberNamespace(member));
  // Gone again between the two requests counts as going.
  if (!found || found.metadata.deletionTimestamp) throw terminating(namespace);
  if (isMembers(found, member)) return { isNew };
  const message = `the namespace "${namespace}" exists and was not made for this cluster`;
  return failure('NamespaceTaken', 'NAMESPACE_TAKEN', message);
}

async function makeAccount(kube: Kube, member: Member): Promise<Provisioned> {
  const { namespace } = member;
  const [{ found: account, isNew }, { found: binding }] = await allArrived([
    createOrFind(kube, resources.serviceAccounts, memberServiceAccount(member)),
    createOrFind(kube, resources.roleBindings, memberRoleBinding(member)),
  ]);
  if (!account || !binding) throw terminating(namespace);
  const strange = !isMembers(account, member)
    ? 'ServiceAccount'
    : isMembers(binding, member) && bindsOnlyThe(member, binding as RoleBinding)
      ? undefined
      : 'RoleBinding';
  if (!strange) return { isNew };
  const message = `the ${strange} "${namespace}/${memberName}" exists and is not as the provisioner makes it`;
  return failure('ObjectTaken', 'OBJECT_TAKEN', message);
}

async function makeObjects(kube: Kube, member: Member, withAccount: boolean): Promise<Provisioned> {
  const made = await makeNamespace(kube, member);
  return withAccount && !('failure' in made) ? makeAccount(kube, member) : made;
}

function isBecauseTerminating(error: KubeApiError): boolean {
  return error.details.causes?.some(({ reason }) => reason === 'NamespaceTerminating') === true;
}

/**
 * Makes the namespace of a cluster, and with it ServiceAccount and RoleBinding of a member that was given access; what is there
 * already and ours is left alone. A namespace that exists is never adopted (decision 8).
 * @throws RollcallError NAMESPACE_TERMINATING, KUBE_UNREACHABLE, and KUBE_API for the server's own trouble: try again
 */
export async function provision(
  kube: Kube,
  member: Member,
  options: { reservedNames: readonly string[]; withAccount: boolean },
): Promise<Provisioned> {
  const { namespace } = member;
  if (isReservedNamespace(namespace, options.reservedNames)) {
    const message = `"${namespace}" is reserved on the hub and cannot be the namespace of a cluster`;
    return failure('NamespaceReserved', 'CLUSTER_NAME_RESERVED', message);
  }
  try {
    return await makeObjects(kube, member, options.withAccount);
  } catch (error) {
    if (isNotFound(error) || (isForbidden(error) && isBecauseTerminating(error))) {
      throw terminating(namespace, error);
    }
    // RBAC or the fence said no: it will say so again until a person changes something.
    if (isForbidden(error) || isInvalid(error)) return failure('Refused', 'KUBE_API', error.message);
    throw error;
  }
}
