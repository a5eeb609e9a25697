import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { applyManifests, type KubeObject, resources } from '@rollcall/shared/kubernetes';
import type { RoleBinding } from '../access/member-access-objects.ts';
import { type ProvisionerWorld, startWorld } from './provisioner-world.ts';

let world: ProvisionerWorld;
/** Everything here runs with two replicas that share the work. */
let provisioners: AsyncDisposable[] = [];
beforeAll(async () => {
  world = await startWorld();
  provisioners = [await world.startProvisioner(), await world.startProvisioner()];
});
afterAll(async () => {
  await Promise.all(provisioners.map((provisioner) => provisioner[Symbol.asyncDispose]()));
  await world?.[Symbol.asyncDispose]();
});

const namespaceOf = (name: string) => world.plane.admin.get<KubeObject>(resources.namespaces, { name });
const bindingOf = (namespace: string) =>
  world.plane.admin.get<RoleBinding>(resources.roleBindings, { name: 'rollcall-member', namespace });
const accountOf = (namespace: string) =>
  world.plane.admin.get<KubeObject>(resources.serviceAccounts, { name: 'rollcall-member', namespace });

test('an approved cluster that was given access gets namespace, ServiceAccount and RoleBinding [CN-4]', async () => {
  await world.say('approved', 'alpha');
  const { access } = await world.told('alpha', 'provisioned');
  expect(access).toMatchObject({ state: 'provisioned', namespace: 'alpha', requestId: 'R1' });
  expect((await namespaceOf('alpha'))?.metadata).toMatchObject({
    labels: {
      'rollcall.dev/cluster-id': 'alpha',
      'rollcall.dev/cluster-name': 'alpha',
      'rollcall.dev/created-by': 'rbac-provisioner',
    },
    annotations: { 'rollcall.dev/autoupdate': 'true' },
  });
  expect(await accountOf('alpha')).toBeDefined();
  expect(await bindingOf('alpha')).toMatchObject({
    roleRef: { kind: 'ClusterRole', name: 'rollcall-member' },
    subjects: [{ kind: 'ServiceAccount', name: 'rollcall-member', namespace: 'alpha' }],
  });
});

test('one without access gets the namespace, and nothing that has rights in it [KA-7, OC-3]', async () => {
  await world.say('approved', 'plain', { access: 'None' });
  const { access } = await world.told('plain', 'provisioned');
  expect(access).not.toHaveProperty('serviceAccount');
  expect((await namespaceOf('plain'))?.metadata.labels).toMatchObject({ 'rollcall.dev/cluster-id': 'plain' });
  expect([await accountOf('plain'), await bindingOf('plain')]).toEqual([undefined, undefined]);
});

test('access that is given and taken away later comes and goes with its account', async () => {
  await world.say('approved', 'changing', { access: 'None' });
  await world.told('changing', 'provisioned');
  await world.say('approved', 'changing');
  const { access } = await world.told('changing', 'provisioned');
  expect(access).toMatchObject({ serviceAccount: 'rollcall-member', roleBinding: 'rollcall-member' });
  expect([await accountOf('changing'), await bindingOf('changing')]).not.toContain(undefined);
  await world.say('approved', 'changing', { access: 'None' });
  const { lastOf } = await world.told('changing', 'provisioned');
  expect(lastOf['rbac-provisioner']?.reason).toBe('AccessWithdrawn');
  expect([await accountOf('changing'), await bindingOf('changing')]).toEqual([undefined, undefined]);
  expect((await namespaceOf('changing'))?.metadata.deletionTimestamp).toBeUndefined();
});

test('the same approval twice is one event', async () => {
  await world.say('approved', 'beta');
  await world.told('beta', 'provisioned');
  await world.say('approved', 'beta');
  await world.settled();
  expect(await world.count('beta', 'provisioned')).toBe(1);
});

test('a namespace that exists is never adopted and never touched', async () => {
  const foreign = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'taken' } };
  const before = await world.plane.admin.create(resources.namespaces, foreign);
  await world.say('approved', 'taken');
  const { access, lastOf } = await world.told('taken', 'provisioning-failed');
  expect(lastOf['rbac-provisioner']?.reason).toBe('NamespaceTaken');
  expect(access?.error?.code).toBe('NAMESPACE_TAKEN');
  await world.say('approved', 'taken');
  await world.settled();
  expect(await world.count('taken', 'provisioning-failed')).toBe(1);
  await world.say('leaving', 'taken');
  await world.told('taken', 'deprovisioned');
  expect((await namespaceOf('taken'))?.metadata.resourceVersion).toBe(before.metadata.resourceVersion);
  expect(await bindingOf('taken')).toBeUndefined();
});

test('the namespace of another cluster is not adopted either', async () => {
  await world.say('approved', 'gamma');
  await world.told('gamma', 'provisioned');
  await world.say('approved', 'gamma', { id: 'somebody-else' });
  const { lastOf } = await world.told('somebody-else', 'provisioning-failed');
  expect(lastOf['rbac-provisioner']?.reason).toBe('NamespaceTaken');
  await world.say('leaving', 'gamma', { id: 'somebody-else' });
  await world.told('somebody-else', 'deprovisioned');
  expect(await bindingOf('gamma')).toBeDefined();
});

test.each(['kube-system', 'default', 'rollcall-system'])('a cluster called %s gets nothing', async (name) => {
  const before = await namespaceOf(name);
  await world.say('approved', name);
  const { lastOf } = await world.told(name, 'provisioning-failed');
  expect(lastOf['rbac-provisioner']?.reason).toBe('NamespaceReserved');
  await world.say('leaving', name);
  await world.told(name, 'deprovisioned');
  expect((await namespaceOf(name))?.metadata.resourceVersion).toBe(before?.metadata.resourceVersion);
  expect(await bindingOf(name)).toBeUndefined();
});

test('revoking takes the rights and keeps the namespace; approving again gives them back', async () => {
  await world.say('approved', 'delta');
  await world.told('delta', 'provisioned');
  await world.say('revoked', 'delta');
  await world.told('delta', 'deprovisioned');
  expect(await bindingOf('delta')).toBeUndefined();
  expect(await accountOf('delta')).toBeUndefined();
  expect((await namespaceOf('delta'))?.metadata.deletionTimestamp).toBeUndefined();
  await world.say('approved', 'delta');
  await world.told('delta', 'provisioned');
  expect(await bindingOf('delta')).toBeDefined();
});

test('where somebody took our mark off the namespace the rights go all the same, and the namespace stays', async () => {
  await world.say('approved', 'unmarked');
  await world.told('unmarked', 'provisioned');
  const metadata = { labels: { 'rollcall.dev/created-by': null } };
  await world.plane.admin.mergePatch(resources.namespaces, 'unmarked', { metadata });
  await world.say('leaving', 'unmarked');
  await world.told('unmarked', 'deprovisioned');
  expect([await bindingOf('unmarked'), await accountOf('unmarked')]).toEqual([undefined, undefined]);
  expect((await namespaceOf('unmarked'))?.metadata.deletionTimestamp).toBeUndefined();
});

test('an account that somebody made beforehand, with our labels, is never bound [KA-7]', async () => {
  const { admin } = world.plane;
  await world.say('approved', 'squatted', { access: 'None' });
  await world.told('squatted', 'provisioned');
  const labels = {
    'rollcall.dev/cluster-id': 'squatted',
    'rollcall.dev/cluster-name': 'squatted',
    'rollcall.dev/created-by': 'rbac-provisioner',
  };
  const metadata = { name: 'rollcall-member', namespace: 'squatted', labels };
  const [strange, binding] = await Promise.all([
    admin.create<KubeObject>(resources.serviceAccounts, {
      apiVersion: 'v1',
      kind: 'ServiceAccount',
      metadata,
    }),
    admin.create(resources.roleBindings, {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'RoleBinding',
      metadata,
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'rollcall-member' },
      subjects: [{ kind: 'ServiceAccount', name: 'rollcall-member', namespace: 'squatted' }],
    } as KubeObject),
  ]);
  await world.say('approved', 'squatted');
  const { access } = await world.told('squatted', 'provisioned');
  const uids = [(await accountOf('squatted'))?.metadata.uid, (await bindingOf('squatted'))?.metadata.uid];
  expect(uids).not.toContain(strange.metadata.uid);
  expect(uids).not.toContain(binding.metadata.uid);
  expect(access?.uids).toEqual({ serviceAccount: uids[0], roleBinding: uids[1] });
});

test('one that cannot be deleted is told of, and never bound', async () => {
  await world.say('approved', 'held', { access: 'None' });
  await world.told('held', 'provisioned');
  const metadata = { name: 'rollcall-member', namespace: 'held', finalizers: ['example.com/mine'] };
  await world.plane.admin.create(resources.serviceAccounts, {
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata,
  });
  await world.say('approved', 'held');
  const { access } = await world.told('held', 'provisioning-failed');
  expect(access?.error?.code).toBe('OBJECT_TAKEN');
  expect(await bindingOf('held')).toBeUndefined();
});

test('leaving deletes the namespace, or keeps it where the policy says so', async () => {
  for (const name of ['goes', 'stays']) await world.say('approved', name);
  for (const name of ['goes', 'stays']) await world.told(name, 'provisioned');
  await world.say('leaving', 'goes');
  await world.say('leaving', 'stays', { namespacePolicy: 'Keep' });
  for (const name of ['goes', 'stays']) await world.told(name, 'deprovisioned');
  // Without a controller manager it stays Terminating, which is what the API server has accepted.
  expect((await namespaceOf('goes'))?.metadata.deletionTimestamp).toBeDefined();
  expect((await namespaceOf('stays'))?.metadata.deletionTimestamp).toBeUndefined();
  expect(await bindingOf('stays')).toBeUndefined();
});

describe('with DeleteWhenEmpty', () => {
  const make = (kind: string, name: string, namespace: string, more: object = {}) =>
    applyManifests(world.plane.admin, [
      { apiVersion: 'v1', kind, metadata: { name, namespace }, ...more } as KubeObject,
    ]);
  async function joined(name: string): Promise<void> {
    await world.say('approved', name);
    await world.told(name, 'provisioned');
  }
  async function leaves(name: string) {
    await world.say('leaving', name, { namespacePolicy: 'DeleteWhenEmpty' });
    const { access, lastOf } = await world.told(name, 'deprovisioned');
    return { stays: access?.namespaceStays, message: lastOf['rbac-provisioner']?.message };
  }
  const isGoing = async (name: string) => (await namespaceOf(name))?.metadata.deletionTimestamp !== undefined;
  const lookBindingOf = (namespace: string) =>
    world.plane.admin.get(resources.roleBindings, { name: 'rollcall-namespace-look', namespace });

  test('a namespace with nothing in it but what Kubernetes and the hub put there is deleted', async () => {
    await joined('empty');
    await make('ConfigMap', 'kube-root-ca.crt', 'empty', { data: { 'ca.crt': 'x' } });
    await make('ServiceAccount', 'default', 'empty');
    await make('Event', 'told', 'empty', {
      involvedObject: { kind: 'Namespace', name: 'empty', namespace: 'empty' },
    });
    expect((await leaves('empty')).stays).toBeUndefined();
    expect(await isGoing('empty')).toBe(true);
    expect(await lookBindingOf('empty')).toBeUndefined();
  });

  test('one that somebody uses stays, and the event says of what kind and how much, and no names', async () => {
    await joined('used');
    for (let number = 0; number < 12; number++) await make('ConfigMap', `work-${number}`, 'used');
    await make('Secret', 'very-private-name', 'used');
    const { stays, message } = await leaves('used');
    expect(stays).toBe('in it: 12 ConfigMap, 1 Secret');
    expect(message).toContain('it stays, in it: 12 ConfigMap, 1 Secret');
    expect(await isGoing('used')).toBe(false);
    expect(await bindingOf('used')).toBeUndefined();
    expect(await accountOf('used')).toBeUndefined();
    expect(await lookBindingOf('used')).toBeUndefined();
  });

  test('one with a single object of a kind that was made a moment ago stays', async () => {
    await joined('custom');
    const schema = { openAPIV3Schema: { type: 'object' } };
    const definition = (kind: string) => ({
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: `${kind.toLowerCase()}s.example.com` },
      spec: {
        group: 'example.com',
        scope: 'Namespaced',
        names: {
          plural: `${kind.toLowerCase()}s`,
          singular: kind.toLowerCase(),
          kind,
          listKind: `${kind}List`,
        },
        versions: [{ name: 'v1', served: true, storage: true, schema }],
      },
    });
    const one = (kind: string) => ({
      apiVersion: 'example.com/v1',
      kind,
      metadata: { name: 'one', namespace: 'custom' },
    });
    // A calendar has events as well, which are not those of Kubernetes.
    const kinds = ['Widget', 'Event'];
    await applyManifests(world.plane.admin, [...kinds.map(definition), ...kinds.map(one)] as KubeObject[]);
    expect((await leaves('custom')).stays).toBe('in it: 1 Event.example.com, 1 Widget.example.com');
    expect(await isGoing('custom')).toBe(false);
  });

  test('a hub without the role for a look keeps the namespace, says so, and still takes the rights', async () => {
    await joined('unseen');
    const look = await world.plane.admin.get<KubeObject>(resources.clusterRoles, {
      name: 'rollcall-namespace-look',
    });
    await world.plane.admin.delete(resources.clusterRoles, 'rollcall-namespace-look');
    const { stays } = await leaves('unseen');
    expect(stays).toMatch(/^the hub could not look into it: /);
    expect(await isGoing('unseen')).toBe(false);
    expect(await bindingOf('unseen')).toBeUndefined();
    const { resourceVersion: _old, uid: _its, ...metadata } = look?.metadata ?? {};
    await world.plane.admin.create(resources.clusterRoles, { ...look, metadata } as KubeObject);
  });
});

test('a namespace that is still going is waited for', async () => {
  await world.say('approved', 'again');
  await world.told('again', 'provisioned');
  await world.say('leaving', 'again');
  await world.told('again', 'deprovisioned');
  await world.say('approved', 'again', { requestId: 'R2' });
  const terminating = await namespaceOf('again');
  expect(terminating?.metadata.deletionTimestamp).toBeDefined();
  // What the namespace controller does once it is empty.
  const finalize = { ...terminating, spec: { finalizers: [] } } as KubeObject;
  await world.plane.admin.replace(resources.namespaces, finalize, { subresource: 'finalize' });
  const { access } = await world.told('again', 'provisioned');
  expect(access?.requestId).toBe('R2');
});
