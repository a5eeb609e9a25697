import { rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { applyManifests, type KubeObject, resources } from '@rollcall/shared/kubernetes';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { manifestsIn } from '../../../cli/up/hub-manifests.ts';
import { until } from '../../../tests/harness/embedded.ts';
import { type ProvisionerWorld, startWorld } from './provisioner-world.ts';

let world: ProvisionerWorld;
let provisioner: AsyncDisposable;
beforeAll(async () => {
  world = await startWorld({ ownPlane: true });
  provisioner = await world.startProvisioner();
});
afterAll(async () => {
  await provisioner?.[Symbol.asyncDispose]();
  await world?.[Symbol.asyncDispose]();
});

const namespaceOf = (name: string) => world.plane.admin.get<KubeObject>(resources.namespaces, { name });
const isWhole = async (namespace: string) => {
  const { admin } = world.plane;
  const name = 'rollcall-member';
  const found = await Promise.all([
    namespaceOf(namespace),
    admin.get(resources.serviceAccounts, { name, namespace }),
    admin.get(resources.roleBindings, { name, namespace }),
  ]);
  return found.every((object) => object !== undefined);
};
async function provisioned(...names: string[]): Promise<void> {
  for (const name of names) await world.say('approved', name);
  for (const name of names) await world.told(name, 'provisioned');
}
/** What a person and, without a controller manager here, the namespace controller do. */
async function deleteNamespace(name: string): Promise<void> {
  const { admin } = world.plane;
  for (const resource of [resources.serviceAccounts, resources.roleBindings])
    await admin.delete(resource, 'rollcall-member', { namespace: name });
  await admin.delete(resources.namespaces, name);
  const terminating = await namespaceOf(name);
  await admin.replace(resources.namespaces, { ...terminating, spec: { finalizers: [] } } as KubeObject, {
    subresource: 'finalize',
  });
}

test('a namespace that somebody deletes is made again, and the history says so [CN-4]', async () => {
  await provisioned('deleted');
  await deleteNamespace('deleted');
  await until('it is whole again', () => isWhole('deleted'));
  await until('it is told', async () => (await world.count('deleted', 'provisioned')) === 2);
  const { access, lastOf } = await world.told('deleted', 'provisioned');
  expect([access?.state, lastOf['rbac-provisioner']?.reason]).toEqual(['provisioned', 'MadeAgain']);
});

test.each([
  { what: 'a ServiceAccount', name: 'no-account', resource: resources.serviceAccounts },
  { what: 'a RoleBinding', name: 'no-binding', resource: resources.roleBindings },
])(
  '$what that somebody deletes is made again, and the history says so [CN-4]',
  async ({ name, resource }) => {
    await provisioned(name);
    await world.plane.admin.delete(resource, 'rollcall-member', { namespace: name });
    await until('it is whole again', () => isWhole(name));
    await until('it is told', async () => (await world.count(name, 'provisioned')) === 2);
    const { lastOf } = await world.told(name, 'provisioned');
    expect(lastOf['rbac-provisioner']?.reason).toBe('MadeAgain');
  },
);

test('a binding that somebody widens, and an account that somebody puts in place of ours, are replaced', async () => {
  const { admin } = world.plane;
  await provisioned('widened', 'replaced');
  const where = { name: 'rollcall-member', namespace: 'widened' };
  const subjects = [{ kind: 'ServiceAccount', name: 'other', namespace: 'widened' }];
  await admin.mergePatch(resources.roleBindings, where.name, { subjects }, where);
  await until('nobody else is bound', async () => {
    const binding = await admin.get<KubeObject & { subjects?: { name: string }[] }>(
      resources.roleBindings,
      where,
    );
    return binding?.subjects?.every(({ name }) => name === 'rollcall-member') === true;
  });
  expect(await world.count('widened', 'provisioning-failed')).toBe(0);
  const metadata = { name: 'rollcall-member', namespace: 'replaced' };
  await admin.delete(resources.serviceAccounts, metadata.name, metadata);
  const strange = await admin.create<KubeObject>(resources.serviceAccounts, {
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata,
  });
  await until('it is ours again', async () => {
    const account = await admin.get<KubeObject>(resources.serviceAccounts, metadata);
    const { access } = await world.told('replaced', 'provisioned');
    return (
      account?.metadata.uid !== strange.metadata.uid && access?.uids?.serviceAccount === account?.metadata.uid
    );
  });
});

test('one that is marked to be left alone stays away; so does that of a cluster that is out [CN-4]', async () => {
  await provisioned('left-alone', 'out');
  const mark = { metadata: { annotations: { 'rollcall.dev/autoupdate': 'false' } } };
  await world.plane.admin.mergePatch(resources.namespaces, 'left-alone', mark);
  await world.say('revoked', 'out');
  await world.told('out', 'deprovisioned');
  for (const name of ['left-alone', 'out']) await deleteNamespace(name);
  // What is deleted later is made again, so the others would have been by then.
  await provisioned('later');
  await deleteNamespace('later');
  await until('it is whole again', () => isWhole('later'));
  expect(await namespaceOf('left-alone')).toBeUndefined();
  expect(await namespaceOf('out')).toBeUndefined();
});

test('a cluster whose namespace is gone leaves all the same [X-8]', async () => {
  await world.say('leaving', 'left-alone');
  const { access } = await world.told('left-alone', 'deprovisioned');
  expect(access?.verdict).toBe('leaving');
  expect(await namespaceOf('left-alone')).toBeUndefined();
});

test('what went while no provisioner ran is made again at its start', async () => {
  await provisioned('unseen');
  await provisioner[Symbol.asyncDispose]();
  await deleteNamespace('unseen');
  provisioner = await world.startProvisioner();
  await until('it is whole again', () => isWhole('unseen'));
  const { access } = await world.told('unseen', 'provisioned');
  expect(access?.state).toBe('provisioned');
});

test('etcd is emptied while the provisioner runs: everybody who is in has everything again, and nobody else', async () => {
  await provisioned('one', 'two', 'leaves');
  await world.say('leaving', 'leaves');
  await world.told('leaves', 'deprovisioned');
  const { plane } = world.plane;
  await plane.kill('kube-apiserver');
  await plane.kill('etcd');
  rmSync(join(dirname(plane.adminKubeconfigPath), 'etcd'), { recursive: true });
  await plane.restart('etcd');
  await plane.restart('kube-apiserver');
  expect(await namespaceOf('one')).toBeUndefined();
  await applyManifests(world.plane.admin, [
    ...manifestsIn('crds'),
    ...manifestsIn('rbac'),
    ...manifestsIn('admission'),
  ]);
  for (const name of ['one', 'two', 'deleted', 'later']) {
    await until(`${name} is whole again`, () => isWhole(name));
    await until(`${name} is told`, async () => {
      const { lastOf } = await world.told(name, 'provisioned');
      return lastOf['rbac-provisioner']?.reason === 'MadeAgain';
    });
  }
  for (const name of ['leaves', 'out']) expect(await namespaceOf(name)).toBeUndefined();
});
