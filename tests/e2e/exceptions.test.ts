import { cpSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { clusterRecord } from '@rollcall/shared/events';
import { type KubeObject, kubeconfigYaml, resources } from '@rollcall/shared/kubernetes';
import { labels, namespaces } from '@rollcall/shared/resources';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runCli } from '../../cli/tests/run-cli.ts';
import { verifyHub } from '../../cli/verify/verify.ts';
import { openHubToRead } from '../../cli/verify/hub-to-read.ts';
import { startTestControlPlane } from '../harness/control-plane.ts';
import { conditionOf, startTestEmbeddedHub, type TestEmbeddedHub, until } from '../harness/embedded.ts';

/** A hub that shows only who needs somebody, and each of them no longer than necessary (ADR 18). */
let hub: TestEmbeddedHub;
beforeAll(async () => {
  hub = await startTestEmbeddedHub({
    settings: {
      registrar: { reservedNames: 'default,plant' },
      projector: { projection: 'exceptions', calmFor: '1s' },
      'rbac-provisioner': { namespaces: 'access' },
    },
  });
  // As `rollcall up` leaves it for people.
  cpSync(hub.up.plane.adminKubeconfigPath, join(hub.up.stateDir, 'kubeconfig'));
});
afterAll(() => hub[Symbol.asyncDispose]());

const rollcall = (...args: string[]) => runCli(args, { environment: { ROLLCALL_HOME: hub.up.stateDir } });

async function member(name: string, clusterId = name) {
  const { text: token } = await hub.createToken();
  const started = await hub.startAgent({ name, clientId: clusterId, token });
  const record = async () => clusterRecord(await hub.log.read({ kind: 'cluster', id: clusterId }));
  await until('it is ready', async () => (await record()).liveness?.state === 'ready');
  const isNotVisible = async () => !(await hub.cluster(name)) && !(await hub.request(clusterId));
  // A join that takes long is shown for a while.
  await until('it is hidden', isNotVisible);
  return { ...started, record, isNotVisible };
}

async function namespacesOfClusters(): Promise<string[]> {
  const labelSelector = labels.clusterId;
  const found = await hub.up.admin.list<KubeObject>(resources.namespaces, { labelSelector });
  return found.map(({ metadata }) => metadata.name ?? '');
}

test('who is well is never shown, who is lost is, and is hidden once it is back', async () => {
  const well = await member('well');
  const lost = await member('lost');
  await lost.agent.stop();
  const shown = await until('the lost one is shown', () => hub.cluster('lost'));
  expect(shown.spec.clusterId).toBe('lost');
  await until(
    'as not ready',
    async () => conditionOf(await hub.cluster('lost'), 'Ready')?.status === 'False',
  );
  expect(await well.isNotVisible()).toBe(true);
  const { admin } = hub.up;
  const names = (await admin.list(resources.managedClusters)).map(({ metadata }) => metadata.name);
  expect(names).toEqual(['lost']);
  // Nor is anything else of them in Kubernetes: they were given no access.
  expect(await namespacesOfClusters()).toEqual([]);
  await hub.startAgent({ name: 'lost', directory: lost.directory });
  await until('it is hidden', lost.isNotVisible);
  expect((await lost.record()).decision).toMatchObject({ verdict: 'approved' });
  const toRead = await openHubToRead({ keys: hub.up.stateDir });
  expect((await verifyHub(toRead).finally(() => toRead.close())).findings).toEqual([]);
});

test('a person makes one visible as the hub knows it, and what is said of it then counts', async () => {
  const cluster = await member('seen');
  const missing = await rollcall('revoke', 'seen');
  expect(missing.stderr).toContain('rollcall show');
  const show = await rollcall('show', 'seen', '--for', '5m');
  expect(show).toMatchObject({ code: 0, stdout: expect.stringContaining('cluster "seen" is shown until') });
  expect(conditionOf(await hub.cluster('seen'), 'Ready')?.status).toBe('True');
  // Nothing was read out of the object that was made only to see it.
  const { decision } = await cluster.record();
  expect(decision).toMatchObject({ verdict: 'approved', reason: 'PolicyApproved' });
  expect(await rollcall('cordon', 'seen')).toMatchObject({ code: 0 });
  await until('cordoned', async () => (await cluster.record()).decision?.unschedulable === true);
  expect(await rollcall('revoke', 'seen')).toMatchObject({ code: 0 });
  const accepted = conditionOf(await hub.cluster('seen'), 'Accepted');
  expect(accepted).toMatchObject({ status: 'False' });
});

test('what a person set stays set, hidden and visible again', async () => {
  const cluster = await member('set');
  expect(await rollcall('show', 'set', '--for', '5s')).toMatchObject({ code: 0 });
  const { admin } = hub.up;
  await admin.mergePatch(resources.managedClusters, 'set', { spec: { namespacePolicy: 'Keep' } });
  await until('it is read', async () => (await cluster.record()).decision?.namespacePolicy === 'Keep');
  await until('it is hidden', cluster.isNotVisible);
  const { lastOf } = await cluster.record();
  expect(await rollcall('show', 'set')).toMatchObject({ code: 0 });
  expect((await hub.cluster('set'))?.spec).toMatchObject({
    namespacePolicy: 'Keep',
    clusterType: 'Standard',
  });
  expect((await cluster.record()).lastOf.approver).toEqual(lastOf.approver);
});

test('who makes the object of a member that is hidden, not knowing of it, changes nothing', async () => {
  const cluster = await member('imported');
  expect(await rollcall('show', 'imported', '--for', '5s')).toMatchObject({ code: 0 });
  const { admin } = hub.up;
  await admin.mergePatch(resources.managedClusters, 'imported', {
    metadata: { labels: { env: 'prod' } },
    spec: { namespacePolicy: 'Keep' },
  });
  await until('it is read', async () => (await cluster.record()).decision?.namespacePolicy === 'Keep');
  await until('it is hidden', cluster.isNotVisible);
  const { lastOf, decision } = await cluster.record();
  const object = {
    apiVersion: 'rollcall.dev/v1alpha1',
    kind: 'ManagedCluster',
    metadata: { name: 'imported', labels: { env: 'test', from: 'elsewhere' } },
    spec: {
      clusterId: 'imported',
      unschedulable: true,
      taints: [{ key: 'gpu', effect: 'NoSchedule' }],
    },
  };
  await admin.create(resources.managedClusters, object);
  const seen = new Set<string | undefined>();
  await until('it is as the hub knows it, and gone again', async () => {
    const { metadata, spec } = (await hub.cluster('imported')) ?? {};
    if (metadata?.labels?.['env'] === 'prod') seen.add(spec?.namespacePolicy);
    return metadata === undefined;
  });
  expect([...seen]).not.toContain('Delete');
  expect(await cluster.record()).toMatchObject({ lastOf: { approver: lastOf.approver }, decision });
});

test('who is given access has a namespace from then on', async () => {
  const cluster = await member('trusted');
  expect(await rollcall('show', 'trusted')).toMatchObject({ code: 0 });
  await hub.up.admin.mergePatch(resources.managedClusters, 'trusted', { spec: { access: 'Namespace' } });
  await until('it has its account', async () => (await cluster.record()).access?.serviceAccount);
  expect(await namespacesOfClusters()).toEqual(['trusted']);
});

test('who leaves is shown while it leaves, and what nobody has ever heard of is not made', async () => {
  const cluster = await member('leaver');
  expect(await rollcall('show', 'leaver')).toMatchObject({ code: 0 });
  expect(await rollcall('unregister', 'leaver', '--wait')).toMatchObject({ code: 0 });
  expect((await cluster.record()).identity?.state).toBe('left');
  expect(await cluster.isNotVisible()).toBe(true);
  expect(await rollcall('show', 'nobody')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('no cluster has the id or the name "nobody"'),
  });
});

test('a join of a member that is registered and not shown is refused by its name, and leaves nothing on the hub', async () => {
  await using joined = await startTestControlPlane({ withManifests: false });
  const kubeconfig = join(hub.up.stateDir, 'joined.kubeconfig');
  writeFileSync(kubeconfig, kubeconfigYaml(joined.plane.access), { mode: 0o600 });
  const system = await joined.admin.get(resources.namespaces, { name: 'kube-system' });
  const tried = (name: string) => rollcall('join', name, '--member-kubeconfig', kubeconfig, '--dry-run');
  expect(await tried('plant')).toMatchObject({
    code: 3,
    stdout: '',
    stderr: expect.stringMatching(/"plant" is reserved on this hub[^]*code: CLUSTER_NAME_RESERVED/),
  });
  expect(await tried('newcomer')).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('can be joined'),
  });
  const unseen = await member('unseen', system?.metadata.uid);
  expect(await tried('newcomer')).toMatchObject({
    code: 3,
    stdout: '',
    stderr: expect.stringMatching(/is that of the cluster "unseen"[^]*code: ID_TAKEN/),
  });
  const unasked = ['--kubeconfig', hub.up.plane.adminKubeconfigPath];
  const apart = await rollcall(
    'join',
    'newcomer',
    '--member-kubeconfig',
    kubeconfig,
    '--dry-run',
    ...unasked,
  );
  expect(apart).toMatchObject({ code: 0, stdout: expect.stringContaining('only the hub knows') });
  const again = await rollcall('join', 'newcomer', '--member-kubeconfig', kubeconfig, '--timeout', '60s');
  expect(again.stderr).toContain('is that of the cluster "unseen"');
  expect(again.stderr).toContain('code: ID_TAKEN');
  expect(again).toMatchObject({ code: 3, stdout: '' });
  await until('the cluster that was none is gone', async () => !(await hub.cluster('newcomer')));
  const left = await Promise.all([
    hub.up.admin.list(resources.secrets, { namespace: namespaces.kubeconfigs }),
    hub.up.admin.list(resources.clusterRegistrationTokens, { namespace: namespaces.join }),
  ]);
  expect(left.flat().filter(({ metadata }) => /newcomer/.test(metadata.name))).toEqual([]);
  // The one that has the member goes on.
  expect((await unseen.record()).liveness?.state).toBe('ready');
  expect((await unseen.record()).decision?.verdict).toBe('approved');
});
