import { RollcallError } from '@rollcall/shared/errors';
import {
  applyManifests,
  type KubeAccess,
  type KubeClient,
  kubeconfigYaml,
  type KubeObject,
  requestAccountToken,
  resources,
} from '@rollcall/shared/kubernetes';
import { objectsIn } from '../install/deploy-templates.ts';
import { agentAccountManifests } from '../up/hub-manifests.ts';

/** How the hub gets into a member. Push: it is its agent. Pull: it installs one. */
export type Mode = 'Pull' | 'Push';

const namespace = 'rollcall-agent';
const installer = 'rollcall-installer';
/** The host renews the first from within; the second is needed for one installation. */
const tokenLifeS = { Push: 604_800, Pull: 3600 } as const;
const accountOf = { Push: 'rollcall-agent', Pull: installer } as const;

/** Of what installs an agent in a member, all that is not the agent itself: its namespace, its account and its rights. */
const agentRights = (): KubeObject[] => agentAccountManifests().flatMap(objectsIn);

/** An account that may install an agent, which takes all rights that the agent has, and the right to give them. */
function installerRights(): KubeObject[] {
  const rbac = 'rbac.authorization.k8s.io';
  const subjects = [{ kind: 'ServiceAccount', name: installer, namespace }];
  const roleRef = { apiGroup: rbac, kind: 'ClusterRole', name: 'cluster-admin' };
  const [agentNamespace] = agentRights();
  return [
    ...(agentNamespace ? [agentNamespace] : []),
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: installer, namespace } },
    {
      apiVersion: `${rbac}/v1`,
      kind: 'ClusterRoleBinding',
      metadata: { name: installer },
      roleRef,
      subjects,
    } as KubeObject,
  ];
}

/** What would be made in the member, for people to read. */
export function accountObjects(mode: Mode): KubeObject[] {
  return mode === 'Push' ? agentRights() : installerRights();
}

/**
 * Makes an account in the member for the hub, with the least rights that it needs there, and a kubeconfig with a token of it.
 * The person's own credentials, and what they are got with, stay on the person's machine.
 * @throws KubeApiError; RollcallError MEMBER_FORBIDDEN
 */
export async function makeMemberAccount(member: KubeClient, mode: Mode): Promise<string> {
  await applyManifests(member, accountObjects(mode));
  const account = { namespace, name: accountOf[mode] };
  const { token } = await requestAccountToken(member, account, { expirationSeconds: tokenLifeS[mode] });
  if (token === undefined)
    throw new RollcallError('MEMBER_FORBIDDEN', 'the member gave no token for the account of the hub');
  const { server, caPem, tlsServerName } = member.access;
  const access: KubeAccess = {
    server,
    caPem,
    tlsServerName,
    token,
    namespace,
    clusterName: 'member',
    contextName: 'member',
    userName: accountOf[mode],
  };
  return kubeconfigYaml(access);
}

/** Of an installation: the agent is there, or will not come. */
export async function removeInstaller(member: Pick<KubeClient, 'delete'>): Promise<void> {
  await member.delete(resources.clusterRoleBindings, installer);
  await member.delete(resources.serviceAccounts, installer, { namespace });
}
