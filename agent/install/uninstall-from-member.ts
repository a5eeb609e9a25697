import type { KubeClient } from '@rollcall/shared/kubernetes';
import { isForbidden, isNotFound } from '@rollcall/shared/kubernetes/kube-api-error';
import { apiVersionOf, resources } from '@rollcall/shared/kubernetes/resources';
import type { Uninstall } from './uninstall-steps.ts';

/** Everything that deploy/agent installs in a member has this name, or lies in the namespace of this name. */
const name = 'rollcall-agent';
/** Where people of the hub get in: who the agent may say that it asks as. */
const people = 'rollcall-agent-people';
/** What goes last, for people to read. */
export const installedInMember = `in the member: ClusterRoleBinding, ClusterRole and Namespace ${name}`;
/** Neither the keys nor what says where the hub is: whoever is stopped before the end needs both for another try. */
const secretsBefore = ['rollcall-hub-kubeconfig'] as const;

type Client = Pick<KubeClient, 'get' | 'mergePatch' | 'delete'>;

const { clusterRoles, clusterRoleBindings, namespaces } = resources;

async function unless<Result>(
  isExpected: (error: unknown) => boolean,
  work: Promise<Result>,
): Promise<Result | undefined> {
  try {
    return await work;
  } catch (error) {
    if (isExpected(error)) return undefined;
    throw error;
  }
}

/**
 * Role and binding: each gives an agent the right to delete the other, so neither can go last by its own hand. The binding
 * becomes the owner of the role, and Kubernetes takes the role away after it.
 */
async function removeOwnRights(client: Client, rights: string): Promise<void> {
  // Forbidden: the binding is gone already, and with it the right to look.
  const binding = await unless(isForbidden, client.get(clusterRoleBindings, { name: rights }));
  if (!binding) return void (await unless(isForbidden, client.delete(clusterRoles, rights)));
  const { kind } = clusterRoleBindings;
  const owner = {
    apiVersion: apiVersionOf(clusterRoleBindings),
    kind,
    name: rights,
    uid: binding.metadata.uid,
  };
  const patch = { metadata: { ownerReferences: [owner] } };
  await unless(isNotFound, client.mergePatch(clusterRoles, rights, patch));
  await client.delete(clusterRoleBindings, rights, { preconditions: { uid: owner.uid } });
}

/**
 * Removes what deploy/agent installed. The order matters to an agent that does it with its own rights: the Role in its
 * namespace lets it delete that namespace, so that goes last, and everything in it goes with it.
 */
export function uninstallFromMember(client: Client): Uninstall {
  return {
    what: installedInMember,
    async beforeGoodbye() {
      for (const secret of secretsBefore) await client.delete(resources.secrets, secret, { namespace: name });
    },
    async afterGoodbye() {
      await removeOwnRights(client, people);
      await removeOwnRights(client, name);
      await client.delete(namespaces, name);
    },
  };
}
