import { type ErrorCode, RollcallError } from '@rollcall/shared/errors';
import type { Access } from '@rollcall/shared/events';
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
  bindsTheMember,
  isMembers,
  type Member,
  memberNamespace,
  memberRoleBinding,
  memberServiceAccount,
  type RoleBinding,
} from './member-access-objects.ts';
import { isReservedNamespace } from './reserved-namespace.ts';

/** Why it cannot be made, where trying again would not help; `reason` is the event's. */
export interface ProvisionFailure {
  readonly reason: 'NamespaceTaken' | 'NamespaceReserved' | 'ObjectTaken' | 'Refused';
  readonly code: ErrorCode;
  readonly message: string;
}

/** Which account and binding are the member's, by what only the API server gives. */
export type AccountUids = NonNullable<Access['uids']>;

/** What became of it: why it cannot be, or that it is there, and whether the last of it was made just now. */
export type Provisioned =
  | { readonly failure: ProvisionFailure }
  | { readonly isNew: boolean; readonly uids?: AccountUids };

interface Options {
  readonly reservedNames: readonly string[];
  readonly withAccount: boolean;
  /** UIDs of objects that the provisioner created; those that are created here are added. */
  readonly created: Set<string>;
}

type Kube = Pick<KubeClient, 'create' | 'get' | 'delete'>;

function failure(
  reason: ProvisionFailure['reason'],
  code: ErrorCode,
  message: string,
): { failure: ProvisionFailure } {
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

function isWhole(found: KubeObject): boolean {
  return found.kind !== resources.roleBindings.kind || bindsTheMember(found as RoleBinding);
}

/** Another replica that makes the same wins once; who makes it again and again is told of. */
const mostReplacements = 3;

/**
 * Creates an object, or finds that it was created before. One that somebody else created is replaced, whatever its labels say:
 * who made it can hold tokens of it.
 */
async function createOwn(
  kube: Kube,
  { resource, object }: { resource: Resource; object: KubeObject },
  created: Set<string>,
): Promise<{ failure: ProvisionFailure } | { uid: string; isNew: boolean }> {
  const { name = '', namespace = '' } = object.metadata;
  for (let attempt = 1; ; attempt++) {
    const { found, isNew } = await createOrFind(kube, resource, object);
    if (!found) throw terminating(namespace);
    const { uid = '', deletionTimestamp } = found.metadata;
    if (isNew) created.add(uid);
    const isAsMade = created.has(uid) && !deletionTimestamp && isWhole(found);
    if (isAsMade) return { uid, isNew };
    if (deletionTimestamp || attempt === mostReplacements) {
      const message = `the ${resource.kind} "${namespace}/${name}" is not the provisioner's, and is there again after its deletion, or still`;
      return failure('ObjectTaken', 'OBJECT_TAKEN', message);
    }
    // A conflict: somebody was faster, and all of this is tried again.
    await kube.delete(resource, name, { namespace, preconditions: { uid } });
  }
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

/** The account first: whatever else has its name must not be bound. */
async function makeAccount(
  kube: Kube,
  member: Member,
  created: Set<string>,
): Promise<{ failure: ProvisionFailure } | { isNew: boolean; uids: AccountUids }> {
  const account = await createOwn(
    kube,
    { resource: resources.serviceAccounts, object: memberServiceAccount(member) },
    created,
  );
  if ('failure' in account) return account;
  const binding = await createOwn(
    kube,
    { resource: resources.roleBindings, object: memberRoleBinding(member) },
    created,
  );
  if ('failure' in binding) return binding;
  const uids = { serviceAccount: account.uid, roleBinding: binding.uid };
  return { isNew: account.isNew || binding.isNew, uids };
}

async function makeObjects(kube: Kube, member: Member, options: Options): Promise<Provisioned> {
  const made = await makeNamespace(kube, member);
  return options.withAccount && !('failure' in made) ? makeAccount(kube, member, options.created) : made;
}

function isBecauseTerminating(error: KubeApiError): boolean {
  return error.details.causes?.some(({ reason }) => reason === 'NamespaceTerminating') === true;
}

/**
 * Makes the namespace of a cluster, and with it ServiceAccount and RoleBinding of a member that was given access; what was made
 * before is left alone. What others made is never adopted (principle 8): a namespace of theirs stays as it is, the other two are
 * replaced.
 * @throws RollcallError NAMESPACE_TERMINATING, KUBE_UNREACHABLE, and KUBE_API for the server's own trouble: try again
 */
export async function provision(kube: Kube, member: Member, options: Options): Promise<Provisioned> {
  const { namespace } = member;
  if (isReservedNamespace(namespace, options.reservedNames)) {
    const message = `"${namespace}" is reserved on the hub and cannot be the namespace of a cluster`;
    return failure('NamespaceReserved', 'CLUSTER_NAME_RESERVED', message);
  }
  try {
    return await makeObjects(kube, member, options);
  } catch (error) {
    if (isNotFound(error) || (isForbidden(error) && isBecauseTerminating(error))) {
      throw terminating(namespace, error);
    }
    // RBAC or the admission policies said no: they will say so again until a person changes something.
    if (isForbidden(error) || isInvalid(error)) return failure('Refused', 'KUBE_API', error.message);
    throw error;
  }
}
