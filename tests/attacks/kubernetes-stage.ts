import { readFileSync } from 'node:fs';
import {
  KubeApiError,
  type KubeClient,
  type KubeObject,
  type Resource,
  resources,
} from '@rollcall/shared/kubernetes';
import { expect } from 'vitest';
import { createTransport } from '../../libs/shared/kubernetes/transport.ts';
import {
  aProjection,
  aRequest,
  type GuardedHub,
  outcomeOf,
  startGuardedHub,
} from '../admission/guarded-hub.ts';

export const rbac = 'rbac.authorization.k8s.io';
export const toClusterAdmin = { apiGroup: rbac, kind: 'ClusterRole', name: 'cluster-admin' };
export const toLook = { ...toClusterAdmin, name: 'rollcall-namespace-look' };
export const toMember = { ...toClusterAdmin, name: 'rollcall-member' };
export const bindingOf = (kind: string, namespace: string | undefined, more: object): KubeObject =>
  ({
    apiVersion: `${rbac}/v1`,
    kind,
    metadata: { name: 'rollcall-member', ...(namespace === undefined ? {} : { namespace }) },
    ...more,
  }) as KubeObject;
export const memberOf = (namespace: string) => ({
  kind: 'ServiceAccount',
  name: 'rollcall-member',
  namespace,
});
export const thief = (name: string) => `system:serviceaccount:rollcall-system:rollcall-${name}`;
export const aNamespace = (name: string, labels: Record<string, string> = {}): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name, labels },
});
export const anAccount = (namespace: string, name = 'rollcall-member'): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ServiceAccount',
  metadata: { name, namespace },
});
export const aToken = (name: string): KubeObject => ({
  apiVersion: 'rollcall.dev/v1alpha1',
  kind: 'ClusterRegistrationToken',
  metadata: { name, namespace: 'rollcall-join' },
  spec: { publish: true },
});
export const tokenFor = (client: KubeClient, namespace: string, name: string, spec: object = {}) =>
  client.createSubresource(
    resources.serviceAccounts,
    { name, namespace, subresource: 'token' },
    { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec },
  );

/**
 * Copies the content of a Secret into a label. The API server quotes the label that is none in its refusal, and says so before any
 * admission policy is asked: whoever may patch may read.
 */
export async function quoteSecret(client: KubeClient, namespace: string, name: string): Promise<void> {
  const transport = createTransport(client.access, 'rollcall-test');
  try {
    const { status, body } = await transport.send({
      method: 'PATCH',
      path: `/api/v1/namespaces/${namespace}/secrets/${name}`,
      contentType: 'application/json-patch+json',
      body: JSON.stringify([
        { op: 'add', path: '/metadata/labels', value: {} },
        { op: 'copy', from: '/data/value', path: '/metadata/labels/quoted' },
      ]),
      timeoutMs: 10_000,
    });
    if (status >= 400) throw new KubeApiError(body, { status, reason: 'Refused', details: {} });
  } finally {
    transport.close();
  }
}

const cluster = (group: string, version: string, plural: string, kind: string): Resource => ({
  group,
  version,
  plural,
  kind,
  namespaced: false,
});
export const inNamespace = (plural: string, kind: string): Resource => ({
  ...cluster('', 'v1', plural, kind),
  namespaced: true,
});
export const certificateRequests = cluster(
  'certificates.k8s.io',
  'v1',
  'certificatesigningrequests',
  'CertificateSigningRequest',
);
export const webhooks = cluster(
  'admissionregistration.k8s.io',
  'v1',
  'validatingwebhookconfigurations',
  'ValidatingWebhookConfiguration',
);
export const ours = {
  clusters: resources.managedClusters,
  requests: resources.clusterRegistrationRequests,
  tokens: resources.clusterRegistrationTokens,
  policies: resources.approvalPolicies,
};
export const own = (metadata: object, spec: object = {}) =>
  ({ apiVersion: 'v1', metadata, ...spec }) as KubeObject;
export const secretOf = (name: string, namespace: string, more: object = {}): KubeObject =>
  ({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name, namespace, labels: { 'rollcall.dev/created-by': 'rbac-provisioner' } },
    ...more,
  }) as KubeObject;

/** A guarded API server with two members, somebody else's namespace, a person's Secret, a good token, a policy and a cluster. */
export async function startKubernetesStage(): Promise<GuardedHub> {
  const hub = await startGuardedHub({ withAudit: true });
  const { admin } = hub;
  const provisioner = hub.service('rbac-provisioner');
  const label = { 'rollcall.dev/cluster-id': 'id-1', 'rollcall.dev/created-by': 'rbac-provisioner' };
  for (const namespace of ['member-a', 'member-b']) {
    await provisioner.create(resources.namespaces, aNamespace(namespace, label));
    await provisioner.create(resources.serviceAccounts, anAccount(namespace));
    await provisioner.create(
      resources.roleBindings,
      bindingOf('RoleBinding', namespace, { roleRef: toMember, subjects: [memberOf(namespace)] }),
    );
    await admin.create(resources.secrets, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'for-the-member', namespace },
    });
    await admin.create(resources.serviceAccounts, anAccount(namespace, 'other'));
  }
  await admin.create(resources.namespaces, aNamespace('payments'));
  await admin.create(resources.serviceAccounts, anAccount('payments'));
  await admin.create(resources.serviceAccounts, anAccount('kube-system', 'powerful'));
  await admin.create(resources.secrets, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'kubeconfig-of-a-person', namespace: 'rollcall-kubeconfigs' },
    stringData: { value: 'the-kubeconfig' },
  } as KubeObject);
  await admin.create(resources.secrets, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'of-a-person', namespace: 'rollcall-join' },
  });
  await admin.create(ours.tokens, aToken('live'));
  await admin.create(ours.policies, {
    apiVersion: 'rollcall.dev/v1alpha1',
    kind: 'ApprovalPolicy',
    metadata: { name: 'strict' },
    spec: { rules: [] },
  });
  const projector = hub.service('projector');
  await projector.create(ours.requests, aRequest('r-1'));
  await projector.create(ours.clusters, aProjection('c-1', {}, { finalizers: ['rollcall.dev/leave'] }));
  return hub;
}

/** Everything that an escalation would change, by name and version. */
async function state(hub: GuardedHub): Promise<string[]> {
  const kinds = [
    ...Object.values(ours),
    resources.namespaces,
    resources.serviceAccounts,
    resources.secrets,
    resources.roles,
    resources.roleBindings,
    resources.clusterRoles,
    resources.clusterRoleBindings,
    resources.customResourceDefinitions,
    resources.validatingAdmissionPolicies,
    resources.validatingAdmissionPolicyBindings,
    certificateRequests,
    webhooks,
  ];
  const lists = await Promise.all(kinds.map((kind) => hub.admin.list(kind)));
  return lists.flatMap((list) =>
    list.map(
      ({ kind, metadata }) =>
        `${kind} ${metadata.namespace ?? ''}/${metadata.name} ${metadata.resourceVersion}`,
    ),
  );
}

interface Audited {
  readonly user: { readonly username: string };
  readonly responseStatus: { readonly code: number };
}

/** Refused writes of that user, as the audit log has them. */
function refusals(hub: GuardedHub, username: string): number {
  return readFileSync(hub.auditLogPath ?? '', 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('{') && line.endsWith('}'))
    .map((line) => JSON.parse(line) as Audited)
    .filter(({ user, responseStatus }) => user.username === username && responseStatus.code >= 400).length;
}

/** What the holder of a Kubernetes user tries. */
export interface Attack {
  readonly name: string;
  readonly attempt: (client: KubeClient) => Promise<unknown>;
  /** What the refusal says: RBAC's words or the admission policies'. */
  readonly want: string;
  /** Reads are not in the audit log of the embedded hub: they leave no trace. */
  readonly isRead?: true;
}

/** The API server refuses it in these words, nothing is another than before, and a write stands in the audit log. */
export async function expectRefused(
  hub: GuardedHub,
  username: string,
  { attempt, want, isRead }: Attack,
): Promise<void> {
  const [before, known] = [await state(hub), refusals(hub, username)];
  expect(await outcomeOf(attempt(hub.as(username)))).toContain(want);
  expect(await state(hub)).toEqual(before);
  if (isRead) return;
  await expect.poll(() => refusals(hub, username)).toBeGreaterThan(known);
}
