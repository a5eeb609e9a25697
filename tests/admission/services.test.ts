import { resources } from '@rollcall/shared/kubernetes';
import type { KubeClient, KubeObject } from '@rollcall/shared/kubernetes';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { aProjection, aRequest, outcomeOf, probeDecision, startGuardedHub } from './guarded-hub.ts';
import type { GuardedHub } from './guarded-hub.ts';

const requests = resources.clusterRegistrationRequests;
const clusters = resources.managedClusters;
const { namespaces, roleBindings, secrets, serviceAccounts } = resources;

const aNamespace = (name: string, labels: Record<string, string> = {}): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name, labels },
});
const ownNamespace = (name: string): KubeObject =>
  aNamespace(name, { 'rollcall.dev/cluster-id': 'id-1', 'rollcall.dev/created-by': 'rbac-provisioner' });
const aServiceAccount = (namespace: string, name = 'rollcall-member'): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ServiceAccount',
  metadata: { name, namespace },
});
const aRoleBinding = (namespace: string, override: object = {}): KubeObject =>
  ({
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'RoleBinding',
    metadata: { name: 'rollcall-member', namespace },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'rollcall-member' },
    subjects: [{ kind: 'ServiceAccount', name: 'rollcall-member', namespace }],
    ...override,
  }) as KubeObject;
const aSecret = (name: string, createdBy?: string, override: object = {}): KubeObject => {
  const labels = createdBy === undefined ? {} : { 'rollcall.dev/created-by': createdBy };
  const annotations = { 'kubernetes.io/service-account.name': 'default' };
  const metadata = { name, namespace: 'rollcall-join', labels, annotations };
  return { apiVersion: 'v1', kind: 'Secret', metadata, type: 'Opaque', ...override } as KubeObject;
};
const mintToken = (
  client: KubeClient,
  namespace: string,
  name = 'rollcall-member',
  spec: object = {},
): Promise<string> => {
  const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec };
  return outcomeOf(
    client.createSubresource(serviceAccounts, { name, namespace, subresource: 'token' }, body),
  );
};

let hub: GuardedHub;
beforeAll(async () => {
  hub = await startGuardedHub();
});
afterAll(() => hub[Symbol.asyncDispose]());

describe('the provisioner', () => {
  let provisioner: KubeClient;
  const user = 'system:serviceaccount:rollcall-system:rollcall-rbac-provisioner';
  // The admission policies must hold whatever RBAC says, so it is given more here than deploy/rbac gives it.
  const verbs = ['get', 'create', 'patch', 'delete'];
  const granted = [
    { apiGroups: [''], resources: ['namespaces', 'serviceaccounts', 'secrets'], verbs },
    { apiGroups: ['rbac.authorization.k8s.io'], resources: ['rolebindings'], verbs },
  ];
  beforeAll(async () => {
    provisioner = hub.service('rbac-provisioner');
    await hub.grant(user, granted);
    await provisioner.create(namespaces, ownNamespace('own'));
    await provisioner.create(serviceAccounts, aServiceAccount('own'));
    await hub.admin.create(namespaces, aNamespace('somebody-elses'));
    for (const namespace of ['kube-system', 'somebody-elses', 'rollcall-system']) {
      await hub.admin.create(serviceAccounts, aServiceAccount(namespace));
    }
  });

  test('may do its work in a namespace that it made', async () => {
    expect(await outcomeOf(provisioner.create(roleBindings, aRoleBinding('own')))).toBe('allowed');
    expect(await mintToken(provisioner, 'own')).toBe('allowed');
    const patch = { metadata: { annotations: { 'rollcall.dev/autoupdate': 'true' } } };
    expect(await outcomeOf(provisioner.mergePatch(namespaces, 'own', patch))).toBe('allowed');
    expect(await outcomeOf(provisioner.delete(roleBindings, 'rollcall-member', { namespace: 'own' }))).toBe(
      'allowed',
    );
    await provisioner.create(namespaces, ownNamespace('own-goes'));
    expect(await outcomeOf(provisioner.delete(namespaces, 'own-goes'))).toBe('allowed');
  });

  test.each(['kube-system', 'somebody-elses', 'rollcall-system'])(
    'with its token stolen can do nothing in %s',
    async (namespace) => {
      const refusal = 'may act only in namespaces with the label rollcall.dev/cluster-id';
      expect(await mintToken(provisioner, namespace)).toContain(refusal);
      expect(await outcomeOf(provisioner.create(roleBindings, aRoleBinding(namespace)))).toContain(refusal);
      const deleted = provisioner.delete(serviceAccounts, 'rollcall-member', { namespace });
      expect(await outcomeOf(deleted)).toContain(refusal);
      const labels = { 'rollcall.dev/cluster-id': 'id-1' };
      const labelled = await outcomeOf(
        provisioner.mergePatch(namespaces, namespace, { metadata: { labels } }),
      );
      expect(labelled).toMatch(/did not make|only the provisioner may set it, at creation/);
      const adopted = provisioner.apply(namespaces, ownNamespace(namespace), { force: true });
      expect(await outcomeOf(adopted)).toMatch(/did not make|at creation/);
      // Kubernetes itself keeps kube-system, and says so first.
      const gone = await outcomeOf(provisioner.delete(namespaces, namespace));
      expect(gone).toMatch(/did not make|may not be deleted/);
    },
  );

  test('can bind no other role and nobody from elsewhere', async () => {
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole' };
    for (const name of ['cluster-admin', 'rollcall-admin']) {
      const binding = aRoleBinding('own', { roleRef: { ...roleRef, name } });
      expect(await outcomeOf(provisioner.create(roleBindings, binding))).not.toBe('allowed');
    }
    // A Role of the same name, whose rights the provisioner happens to have itself.
    const sameName = aRoleBinding('own', { roleRef: { ...roleRef, kind: 'Role', name: 'rollcall-member' } });
    expect(await outcomeOf(provisioner.create(roleBindings, sameName))).not.toBe('allowed');
    for (const subject of [
      { kind: 'ServiceAccount', name: 'rollcall-member', namespace: 'kube-system' },
      { kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: 'mallory' },
      { kind: 'Group', apiGroup: 'rbac.authorization.k8s.io', name: 'system:authenticated' },
    ]) {
      const binding = aRoleBinding('own', { subjects: [subject] });
      expect(await outcomeOf(provisioner.create(roleBindings, binding))).toContain(
        'of the same namespace only',
      );
    }
  });

  test('can touch no other ServiceAccount', async () => {
    const made = provisioner.create(serviceAccounts, aServiceAccount('own', 'other'));
    expect(await outcomeOf(made)).toContain('the ServiceAccount rollcall-member only');
    await hub.admin.create(serviceAccounts, aServiceAccount('own', 'other'));
    expect(await mintToken(provisioner, 'own', 'other')).not.toBe('allowed');
  });

  test('makes tokens of an hour at most, bound to nothing but their ServiceAccount', async () => {
    const made = (spec: object): Promise<string> => mintToken(provisioner, 'own', 'rollcall-member', spec);
    expect(await made({ expirationSeconds: 3600 })).toBe('allowed');
    const refusal = 'tokens of at most an hour';
    expect(await made({ expirationSeconds: 3601 })).toContain(refusal);
    expect(await made({ expirationSeconds: 31_536_000 })).toContain(refusal);
    await hub.admin.create(secrets, { ...aSecret('anchor'), metadata: { name: 'anchor', namespace: 'own' } });
    const boundObjectRef = { apiVersion: 'v1', kind: 'Secret', name: 'anchor' };
    expect(await made({ boundObjectRef })).toContain(refusal);
  });

  test('can make namespaces only with the label, and none with a reserved name', async () => {
    const bare = provisioner.create(namespaces, aNamespace('bare'));
    expect(await outcomeOf(bare)).toContain('must carry the label rollcall.dev/cluster-id');
    for (const name of ['kube-x', 'rollcall-x']) {
      expect(await outcomeOf(provisioner.create(namespaces, ownNamespace(name)))).toContain('reserved');
    }
    for (const id of ['id-2', null]) {
      const labels = { 'rollcall.dev/cluster-id': id };
      const relabelled = provisioner.mergePatch(namespaces, 'own', { metadata: { labels } });
      expect(await outcomeOf(relabelled)).toMatch(/cannot change|must carry|at creation/);
    }
  });

  test('may write Secrets of its own in the join namespace only', async () => {
    const created = (secret: KubeObject): Promise<string> => outcomeOf(provisioner.create(secrets, secret));
    expect(await created(aSecret('published', 'rbac-provisioner'))).toBe('allowed');
    expect(await outcomeOf(provisioner.list(secrets, { namespace: 'rollcall-join' }))).toContain(
      'cannot list',
    );
    expect(await created(aSecret('unmarked'))).toContain('of its own in the join namespace');
    const type = 'kubernetes.io/service-account-token';
    expect(await created(aSecret('minting', 'rbac-provisioner', { type }))).toContain('type Opaque only');
    await hub.admin.create(secrets, aSecret('persons'));
    const taken = { metadata: { labels: { 'rollcall.dev/created-by': 'rbac-provisioner' } } };
    const namespace = 'rollcall-join';
    expect(await outcomeOf(provisioner.mergePatch(secrets, 'persons', taken, { namespace }))).toContain(
      'rollcall-provisioner',
    );
    expect(await outcomeOf(provisioner.delete(secrets, 'persons', { namespace }))).toContain(
      'rollcall-provisioner',
    );
    expect(await outcomeOf(provisioner.delete(secrets, 'published', { namespace }))).toBe('allowed');
  });

  test('writes its Secrets in a namespace of people only where it may publish tokens, and never beside our own', async () => {
    const theirs = (namespace: string, createdBy?: string) => {
      const secret = aSecret('published', createdBy);
      return { ...secret, metadata: { ...secret.metadata, namespace } };
    };
    const created = (secret: KubeObject) => outcomeOf(provisioner.create(secrets, secret));
    const refused = 'of its own in the join namespace or where it may publish tokens';
    expect(await created(theirs('somebody-elses', 'rbac-provisioner'))).toContain(refused);
    const publish = {
      apiGroups: ['rollcall.dev'],
      resources: ['clusterregistrationtokens'],
      verbs: ['publish'],
    };
    await hub.grant(user, [...granted, publish]);
    await expect.poll(() => created(theirs('somebody-elses', 'rbac-provisioner'))).toBe('allowed');
    expect(await created(theirs('somebody-elses'))).toContain(refused);
    for (const ours of ['rollcall-system', 'rollcall-kubeconfigs', 'rollcall-agents', 'kube-system'])
      expect(await created(theirs(ours, 'rbac-provisioner'))).toContain(refused);
    await hub.admin.create(secrets, {
      ...theirs('own'),
      metadata: { name: 'of-a-tenant', namespace: 'own' },
    });
    const own = { namespace: 'own' };
    expect(await outcomeOf(provisioner.mergePatch(secrets, 'of-a-tenant', { data: {} }, own))).toContain(
      refused,
    );
    expect(await outcomeOf(provisioner.delete(secrets, 'of-a-tenant', own))).toContain(refused);
  });

  test('is given a namespace by nobody: not even the administrator sets its mark', async () => {
    const labels = { 'rollcall.dev/cluster-id': 'id-1' };
    const marked = hub.admin.mergePatch(namespaces, 'somebody-elses', { metadata: { labels } });
    expect(await outcomeOf(marked)).toContain('only the provisioner may set it, at creation');
    const other = hub.admin.mergePatch(namespaces, 'somebody-elses', { metadata: { labels: { a: 'b' } } });
    expect(await outcomeOf(other)).toBe('allowed');
    // Break glass: to take the mark off is always safe.
    const unmarked = { metadata: { labels: { 'rollcall.dev/cluster-id': null } } };
    const freed = hub.admin.mergePatch(namespaces, 'own', unmarked, { dryRun: true });
    expect(await outcomeOf(freed)).toBe('allowed');
  });
});

describe('the projector', () => {
  let projector: KubeClient;
  beforeAll(async () => {
    projector = hub.service('projector');
    await projector.create(requests, aRequest('r1'));
    await projector.create(clusters, aProjection('c1', { clusterId: 'c1' }));
  });

  test('may show what the events say', async () => {
    const labels = {
      'rollcall.dev/cluster-id': 'c1',
      'rollcall.dev/created-by': 'projector',
      'rollcall.dev/cluster-set': 'default',
    };
    const metadata = { labels, finalizers: ['rollcall.dev/leave'] };
    expect(await outcomeOf(projector.mergePatch(clusters, 'c1', { metadata }))).toBe('allowed');
    const status = { observed: { epoch: 1, sequence: 7 }, lastSeen: 'live' };
    for (const [resource, name] of [
      [clusters, 'c1'],
      [requests, 'r1'],
    ] as const) {
      const shown = resource === clusters ? status : { observed: status.observed, result: 'Held' };
      const written = projector.mergePatch(resource, name, { status: shown }, { subresource: 'status' });
      expect(await outcomeOf(written)).toBe('allowed');
    }
    const newKey = projector.mergePatch(requests, 'r1', { spec: { keyFingerprint: 'K2' } });
    expect(await outcomeOf(newKey)).toBe('allowed');
    const free = projector.mergePatch(clusters, 'c1', { metadata: { finalizers: null } });
    expect(await outcomeOf(free)).toBe('allowed');
  });

  test('can write nothing that belongs to people', async () => {
    const decision = { verdict: 'Approve' };
    const decided = projector.mergePatch(requests, 'r1', { spec: { decision } });
    expect(await outcomeOf(decided)).toMatch(/rollcall-(services|accept)/);
    expect(await outcomeOf(projector.create(requests, aRequest('r2', { decision })))).toMatch(
      /rollcall-(services|accept)/,
    );
    for (const spec of [{ operation: { id: '1', verb: 'Ban' } }, { hubAcceptsClient: true }]) {
      expect(await outcomeOf(projector.mergePatch(clusters, 'c1', { spec }))).toMatch(
        /rollcall-(services|operation)/,
      );
      expect(await outcomeOf(projector.create(clusters, aProjection('c2', spec)))).toMatch(
        /rollcall-(services|operation)/,
      );
    }
  });

  test('cannot do so even with every right of RBAC', async () => {
    await hub.grant('system:serviceaccount:rollcall-system:rollcall-projector', 'rollcall-admin');
    const decided = projector.mergePatch(requests, 'r1', { spec: { decision: { verdict: 'Approve' } } });
    expect(await outcomeOf(decided)).toContain('spec.decision belongs to people');
    const operation = { id: '1', verb: 'Ban', keyFingerprint: 'K1' };
    const patched = projector.mergePatch(clusters, 'c1', { spec: { operation } });
    expect(await outcomeOf(patched)).toContain('spec.operation belongs to people');
    const accepted = projector.mergePatch(clusters, 'c1', { spec: { hubAcceptsClient: true } });
    expect(await outcomeOf(accepted)).toContain('spec.hubAcceptsClient belongs to people');
    const opened = projector.mergePatch(clusters, 'c1', { spec: { access: 'Namespace' } });
    expect(await outcomeOf(opened)).toContain('spec.access belongs to people');
    const letIn = projector.mergePatch(clusters, 'c1', { spec: { memberAccess: 'Allowed' } });
    expect(await outcomeOf(letIn)).toContain('spec.memberAccess belongs to people');
  });

  test.each([
    { resource: resources.approvalPolicies, spec: { rules: [] } },
    { resource: resources.clusterRegistrationTokens, spec: { publish: true } },
    { resource: resources.managedClusterSetBindings, spec: { clusterSet: 'made' } },
  ])('cannot make $resource.plural either', async ({ resource, spec }) => {
    const object = {
      apiVersion: 'rollcall.dev/v1alpha1',
      kind: resource.kind,
      metadata: { name: 'made', ...(resource.namespaced && { namespace: 'rollcall-join' }) },
      spec,
    };
    expect(await outcomeOf(projector.create(resource, object))).toContain('belong to people');
  });

  test('can make the sets that every hub has, and no other', async () => {
    const aSet = (name: string): KubeObject => ({
      apiVersion: 'rollcall.dev/v1alpha1',
      kind: 'ManagedClusterSet',
      metadata: { name },
      spec: { selector: { type: 'ExclusiveLabel' } },
    });
    const made = (name: string) =>
      outcomeOf(projector.create(resources.managedClusterSets, aSet(name), { dryRun: true }));
    expect(await made('default')).toBe('allowed');
    expect(await made('prod')).toContain('belong to people');
  });

  test('writes no ClusterProfile of another manager', async () => {
    const profiles = resources.clusterProfiles;
    const where = { namespace: 'default' };
    const aProfile = (name: string, manager: string): KubeObject => ({
      apiVersion: 'multicluster.x-k8s.io/v1alpha1',
      kind: profiles.kind,
      metadata: { name, ...where, labels: { 'x-k8s.io/cluster-manager': manager } },
      spec: { clusterManager: { name: manager } },
    });
    await hub.admin.create(profiles, aProfile('theirs', 'somebody'));
    const refusal = 'belongs to others; no service may write it';
    const taken = { metadata: { labels: { 'x-k8s.io/cluster-manager': 'rollcall' } } };
    const status = { status: { version: { kubernetes: 'v1' } } };
    for (const write of [
      () => projector.create(profiles, aProfile('made', 'somebody')),
      () => projector.mergePatch(profiles, 'theirs', taken, where),
      () => projector.mergePatch(profiles, 'theirs', status, { ...where, subresource: 'status' }),
      () => projector.delete(profiles, 'theirs', where),
    ])
      expect(await outcomeOf(write())).toContain(refusal);
    expect(await outcomeOf(projector.create(profiles, aProfile('ours', 'rollcall')))).toBe('allowed');
    const lost = { metadata: { labels: null } };
    expect(await outcomeOf(projector.mergePatch(profiles, 'ours', lost, where))).toContain(refusal);
    expect(await outcomeOf(projector.delete(profiles, 'ours', where))).toBe('allowed');
  });

  test('keeps a decision of a person when it writes', async () => {
    const spec = { decision: { verdict: 'Deny' } };
    await hub.admin.mergePatch(requests, 'r1', { spec });
    const renewed = projector.mergePatch(requests, 'r1', { spec: { keyFingerprint: 'K3' } });
    expect(await outcomeOf(renewed)).toBe('allowed');
  });
});

test('the approver can read our kinds and write none', async () => {
  const approver = hub.service('approver');
  for (const resource of [requests, clusters, resources.approvalPolicies, resources.managedClusterSets]) {
    expect(await outcomeOf(approver.list(resource))).toBe('allowed');
  }
  expect(await outcomeOf(approver.mergePatch(clusters, 'c1', { spec: {} }))).toContain('cannot patch');
  expect(await outcomeOf(approver.list(secrets))).toContain('cannot list');
});

test.each(['registrar', 'heartbeat', 'account-controller'])(
  'the %s has no right in Kubernetes',
  async (name) => {
    expect(await outcomeOf(hub.service(name).list(clusters))).toContain('cannot list');
  },
);

describe('the probe', () => {
  test('is refused by rollcall-accept, without any object', async () => {
    expect(await probeDecision(hub.service('admission-probe'))).toContain(
      "ValidatingAdmissionPolicy 'rollcall-accept' with binding 'rollcall-accept' denied request",
    );
  });

  test('hears that the admission policies are gone when they are', async () => {
    const bindings = resources.validatingAdmissionPolicyBindings;
    const binding = await hub.admin.get(bindings, { name: 'rollcall-accept' });
    await hub.admin.delete(bindings, 'rollcall-accept');
    await expect
      .poll(() => probeDecision(hub.service('admission-probe')), { timeout: 30_000 })
      .toBe('allowed');
    await hub.admin.create(bindings, {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingAdmissionPolicyBinding',
      metadata: { name: 'rollcall-accept' },
      spec: binding?.spec,
    });
    await expect
      .poll(() => probeDecision(hub.service('admission-probe')), { timeout: 30_000 })
      .toContain('rollcall-accept');
  });

  test('can write nothing for real', async () => {
    const probe = hub.service('admission-probe');
    await hub.grant('system:serviceaccount:rollcall-system:rollcall-admission-probe', [
      { apiGroups: ['rollcall.dev'], resources: ['managedclusters'], verbs: ['patch'] },
    ]);
    const made = await outcomeOf(probe.create(requests, aRequest('r-probe')));
    expect(made).toMatch(/rollcall-(services|projection)/);
    const patched = probe.mergePatch(clusters, 'c1', { spec: { unschedulable: true } });
    expect(await outcomeOf(patched)).toContain('the probe may ask by dry run only');
  });
});
