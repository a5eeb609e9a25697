import { type KubeClient, resources } from '@rollcall/shared/kubernetes';
import {
  type Attack,
  rbac,
  toClusterAdmin,
  toLook,
  toMember,
  bindingOf,
  memberOf,
  aNamespace,
  tokenFor,
  inNamespace,
  quoteSecret,
  own,
  secretOf,
} from './kubernetes-stage.ts';

const provisioner = {
  kind: 'ServiceAccount',
  name: 'rollcall-rbac-provisioner',
  namespace: 'rollcall-system',
};
const bind = (
  client: KubeClient,
  metadata: { name: string; namespace: string },
  binding: { roleRef: object; subjects: readonly object[] },
) =>
  client.create(
    resources.roleBindings,
    own(metadata, { apiVersion: `${rbac}/v1`, kind: 'RoleBinding', ...binding }),
  );

const toPublish = { ...toMember, name: 'rollcall-published-tokens' };

/** What the holder of the provisioner's kubeconfig would try first. */
export const byProvisioner: readonly Attack[] = [
  {
    name: 'binds cluster-admin in the namespace of a member',
    attempt: (client) =>
      bind(
        client,
        { name: 'admin', namespace: 'member-a' },
        { roleRef: toClusterAdmin, subjects: [memberOf('member-a')] },
      ),
    want: 'forbidden',
  },
  {
    name: 'binds cluster-admin everywhere',
    attempt: (client) =>
      client.create(
        resources.clusterRoleBindings,
        bindingOf('ClusterRoleBinding', undefined, {
          roleRef: toClusterAdmin,
          subjects: [memberOf('member-a')],
        }),
      ),
    want: 'cannot create',
  },
  {
    name: 'binds the role of members in kube-system',
    attempt: (client) =>
      client.create(
        resources.roleBindings,
        bindingOf('RoleBinding', 'kube-system', { roleRef: toMember, subjects: [memberOf('kube-system')] }),
      ),
    want: 'only in namespaces with the label rollcall.dev/cluster-id',
  },
  {
    name: 'lets one member read the namespace of another',
    attempt: (client) =>
      bind(
        client,
        { name: 'other', namespace: 'member-b' },
        { roleRef: toMember, subjects: [memberOf('member-a')] },
      ),
    want: 'ServiceAccounts of the same namespace only',
  },
  {
    name: 'lets everybody read the namespace of a member',
    attempt: (client) =>
      bind(
        client,
        { name: 'everybody', namespace: 'member-b' },
        { roleRef: toMember, subjects: [{ kind: 'Group', apiGroup: rbac, name: 'system:authenticated' }] },
      ),
    want: 'ServiceAccounts of the same namespace only',
  },
  ...(['kube-system', 'rollcall-system', 'rollcall-join', 'payments'] as const).map((namespace): Attack => ({
    name: `gives itself the look into ${namespace}`,
    attempt: (client) =>
      bind(client, { name: toLook.name, namespace }, { roleRef: toLook, subjects: [provisioner] }),
    want: 'only in namespaces with the label rollcall.dev/cluster-id',
  })),
  {
    name: 'gives itself the look everywhere',
    attempt: (client) =>
      client.create(
        resources.clusterRoleBindings,
        bindingOf('ClusterRoleBinding', undefined, { roleRef: toLook, subjects: [provisioner] }),
      ),
    want: 'cannot create',
  },
  ...[
    { who: 'a member', subjects: [memberOf('member-a')] },
    { who: 'another service', subjects: [{ ...provisioner, name: 'rollcall-projector' }] },
    { who: 'a member beside itself', subjects: [provisioner, memberOf('member-a')] },
    { who: 'everybody', subjects: [{ kind: 'Group', apiGroup: rbac, name: 'system:authenticated' }] },
    { who: 'nobody yet', subjects: [] },
  ].map(({ who, subjects }): Attack => ({
    name: `gives the look to ${who}`,
    attempt: (client) =>
      bind(client, { name: toLook.name, namespace: 'member-a' }, { roleRef: toLook, subjects }),
    want: 'rollcall-namespace-look to itself only',
  })),
  {
    name: 'gives itself the look under a name that nobody looks for',
    attempt: (client) =>
      bind(
        client,
        { name: 'something-else', namespace: 'member-a' },
        { roleRef: toLook, subjects: [provisioner] },
      ),
    want: 'rollcall-namespace-look to itself only',
  },
  {
    name: 'gives itself more than the look under its name',
    attempt: (client) =>
      bind(
        client,
        { name: toLook.name, namespace: 'member-a' },
        { roleRef: toClusterAdmin, subjects: [provisioner] },
      ),
    want: 'forbidden',
  },
  {
    name: 'widens the look',
    attempt: (client) =>
      client.mergePatch(resources.clusterRoles, toLook.name, {
        rules: [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }],
      }),
    want: 'cannot patch',
  },
  {
    name: 'reads the Secrets of a member without a look',
    attempt: (client) => client.list(resources.secrets, { namespace: 'member-a' }),
    want: 'cannot list',
    isRead: true,
  },
  {
    name: 'widens the role of members',
    attempt: (client) =>
      client.mergePatch(resources.clusterRoles, 'rollcall-member', {
        rules: [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }],
      }),
    want: 'cannot patch',
  },
  {
    name: 'mints a token for a ServiceAccount of kube-system',
    attempt: (client) => tokenFor(client, 'kube-system', 'powerful'),
    want: 'forbidden',
  },
  {
    name: 'mints a token for a ServiceAccount of ours',
    attempt: (client) => tokenFor(client, 'rollcall-system', 'rollcall-projector'),
    want: 'forbidden',
  },
  {
    name: 'mints a token for a ServiceAccount of that name that somebody else made',
    attempt: (client) => tokenFor(client, 'payments', 'rollcall-member'),
    want: 'only in namespaces with the label rollcall.dev/cluster-id',
  },
  {
    name: 'mints a token for another ServiceAccount beside a member’s',
    attempt: (client) => tokenFor(client, 'member-a', 'other'),
    want: 'forbidden',
  },
  {
    name: 'mints a token of a member that lives for a year',
    attempt: (client) => tokenFor(client, 'member-a', 'rollcall-member', { expirationSeconds: 365 * 86_400 }),
    want: 'tokens of at most an hour',
  },
  {
    name: 'takes over a namespace that exists',
    attempt: (client) =>
      client.mergePatch(resources.namespaces, 'payments', {
        metadata: { labels: { 'rollcall.dev/cluster-id': 'id-1' } },
      }),
    want: 'cannot patch',
  },
  {
    name: 'deletes a namespace that is not its own',
    attempt: (client) => client.delete(resources.namespaces, 'payments'),
    want: 'may not touch a namespace that it did not make',
  },
  {
    name: 'makes a namespace with a name of the system',
    attempt: (client) =>
      client.create(resources.namespaces, aNamespace('kube-evil', { 'rollcall.dev/cluster-id': 'id-1' })),
    want: 'reserved',
  },
  ...['rollcall-kubeconfigs', 'rollcall-agents', 'rollcall-system'].flatMap((namespace): Attack[] => [
    {
      name: `reads the Secrets of ${namespace}`,
      attempt: (client) => client.list(resources.secrets, { namespace }),
      want: 'cannot list',
      isRead: true,
    },
    {
      name: `plants the keys of an agent in ${namespace}`,
      attempt: (client) => client.create(resources.secrets, secretOf('rollcall-agent-id-1', namespace)),
      want: 'cannot create',
    },
  ]),
  {
    name: 'reads the kubeconfig of a person by its name',
    attempt: (client) =>
      client.get(resources.secrets, { name: 'kubeconfig-of-a-person', namespace: 'rollcall-kubeconfigs' }),
    want: 'cannot get',
    isRead: true,
  },
  {
    name: 'has it quoted in the refusal of a patch',
    attempt: (client) => quoteSecret(client, 'rollcall-kubeconfigs', 'kubeconfig-of-a-person'),
    want: 'cannot patch',
  },
  {
    name: 'deletes it',
    attempt: (client) =>
      client.delete(resources.secrets, 'kubeconfig-of-a-person', { namespace: 'rollcall-kubeconfigs' }),
    want: 'cannot delete',
  },
  {
    name: 'takes over a Secret of a person beside the tokens',
    attempt: (client) =>
      client.mergePatch(resources.secrets, 'of-a-person', {}, { namespace: 'rollcall-join' }),
    want: 'Secrets of its own in the join namespace',
  },
  {
    name: 'deletes that one',
    attempt: (client) => client.delete(resources.secrets, 'of-a-person', { namespace: 'rollcall-join' }),
    want: 'Secrets of its own in the join namespace',
  },
  {
    name: 'publishes a token where nobody told it to',
    attempt: (client) => client.create(resources.secrets, secretOf('theirs', 'payments')),
    want: 'cannot create',
  },
  {
    name: 'tells itself to',
    attempt: (client) =>
      bind(
        client,
        { name: toPublish.name, namespace: 'payments' },
        { roleRef: toPublish, subjects: [provisioner] },
      ),
    want: 'attempting to grant RBAC permissions not currently held',
  },
  {
    name: 'tells itself to in the namespace of a member',
    attempt: (client) =>
      bind(
        client,
        { name: toPublish.name, namespace: 'member-a' },
        { roleRef: toPublish, subjects: [provisioner] },
      ),
    want: 'attempting to grant RBAC permissions not currently held',
  },
  {
    name: 'has a token made by a Secret',
    attempt: (client) =>
      client.create(
        resources.secrets,
        secretOf('minting', 'rollcall-join', {
          type: 'kubernetes.io/service-account-token',
          metadata: {
            name: 'minting',
            namespace: 'rollcall-join',
            labels: { 'rollcall.dev/created-by': 'rbac-provisioner' },
            annotations: { 'kubernetes.io/service-account.name': 'default' },
          },
        }),
      ),
    want: 'type Opaque only',
  },
  {
    name: 'writes Secrets beside its own credentials',
    attempt: (client) => client.create(resources.secrets, secretOf('x', 'rollcall-system')),
    want: 'cannot create',
  },
  {
    name: 'runs a pod as a member',
    attempt: (client) =>
      client.create(
        inNamespace('pods', 'Pod'),
        own({ name: 'x', namespace: 'member-a' }, { kind: 'Pod', spec: { containers: [] } }),
      ),
    want: 'cannot create',
  },
];
