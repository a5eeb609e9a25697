import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  createKubeClient,
  type KubeClient,
  type KubeObject,
  loadKubeAccess,
  resources,
  type StoredObject,
} from '@rollcall/shared/kubernetes';
import type { ManagedCluster } from '@rollcall/shared/resources';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runCli, type RunningCli, startCli } from '../../cli/tests/run-cli.ts';
import { findBinary } from '../../cli/up/binaries.ts';
import { conditionOf, until } from '../harness/embedded.ts';
import { unpackRelease, type UnpackedRelease } from './recorded-release.ts';

let release: UnpackedRelease;
let base: string;
let environment: Readonly<Record<string, string>>;
let up: RunningCli | undefined;
let client: KubeClient | undefined;
let token: string;
const agents: RunningCli[] = [];

beforeAll(() => {
  release = unpackRelease();
  base = mkdtempSync(join(tmpdir(), 'rollcall-in-place-'));
  environment = {
    ROLLCALL_HOME: join(base, 'state'),
    // What set-up has noted belongs to this checkout.
    ROLLCALL_NATS_SERVER: findBinary('nats-server'),
    ROLLCALL_ETCD: findBinary('etcd'),
    ROLLCALL_KUBE_APISERVER: findBinary('kube-apiserver'),
    ROLLCALL_KUBE_CONTROLLER_MANAGER: findBinary('kube-controller-manager'),
    ROLLCALL_KUBECTL: findBinary('kubectl'),
  };
});
afterAll(async () => {
  for (const agent of agents) await agent[Symbol.asyncDispose]();
  client?.close();
  await up?.[Symbol.asyncDispose]();
  await runCli(['down', '--wipe'], { environment });
  release[Symbol.dispose]();
  rmSync(base, { recursive: true, force: true });
});

const rollcall = (...args: string[]) => runCli(args, { environment });
const api = (): KubeClient => {
  if (client === undefined) throw new Error('no hub runs');
  return client;
};

/** Stops the hub that runs, as Ctrl-C does, and goes on with another version in the same directory. */
async function goOnWith(entry: string | undefined): Promise<void> {
  client?.close();
  up?.child.kill('SIGINT');
  const ended = await up?.result;
  if (ended && ended.code !== 0) throw new Error(`it did not stop well\n${ended.stderr}`);
  up = startCli(['up', '--port', '0'], { environment, ...(entry === undefined ? {} : { entry }) });
  await up.line(/Ctrl-C stops it/);
  const access = loadKubeAccess({ path: join(base, 'state', 'kubeconfig') });
  client = createKubeClient(access, { fieldManager: 'a-person', userAgent: 'rollcall-test' });
}

async function untilReady(name: string): Promise<ManagedCluster> {
  return until(`cluster ${name} is Ready`, async () => {
    const cluster = await api().get<ManagedCluster>(resources.managedClusters, { name });
    return conditionOf(cluster, 'Ready')?.status === 'True' && cluster;
  });
}

/** An agent in a process of its own, as `rollcall agent run` is. */
async function letIn(name: string, entry?: string): Promise<void> {
  const kubeconfig = join(base, 'state', 'kubeconfig');
  const hub = await api().get<KubeObject & { data: Record<string, string> }>(resources.configMaps, {
    name: 'rollcall-hub',
    namespace: 'rollcall-system',
  });
  const at = ['--hub', hub?.data['addresses'] ?? '', '--ca-cert-hash', hub?.data['caCertHash'] ?? ''];
  const member = ['--member-kubeconfig', kubeconfig, '--client-id', name];
  const own = ['--cluster-name', name, '--state-dir', join(base, name)];
  const agent = startCli(['agent', 'run', ...member, ...at, ...own], {
    environment: { ROLLCALL_TOKEN: token },
    ...(entry === undefined ? {} : { entry }),
  });
  agents.push(agent);
  await untilReady(name);
}

/** Everything that is ours, by kind and name: what people wrote, and that it is still the same object. */
async function everyObject(): Promise<Map<string, { uid: string; spec: object }>> {
  const kinds = [
    resources.managedClusters,
    resources.managedClusterSets,
    resources.clusterRegistrationRequests,
    resources.clusterRegistrationTokens,
    resources.approvalPolicies,
  ];
  const found = new Map<string, { uid: string; spec: object }>();
  for (const kind of kinds)
    for (const { metadata, spec } of await api().list<StoredObject & { spec?: object }>(kind))
      found.set(`${kind.plural}/${metadata.name}`, { uid: metadata.uid, spec: spec ?? {} });
  return found;
}

/** An agent that is not back yet does not hear of a request, and nobody gets two keys within a minute: it is asked for until it is done. */
async function expectRotated(name: string): Promise<void> {
  const said: string[] = [];
  while (said.length < 9) {
    const { code, stderr } = await rollcall('rotate', name, '--timeout', '15s');
    if (code === 0) return;
    said.push(stderr);
  }
  expect.fail(`${name} has no new key\n${said.join('\n')}`);
}

/** What was there before is there, as the same objects with what people wanted; whoever was a member is one and can be spoken to. */
async function expectWhole(
  before: Awaited<ReturnType<typeof everyObject>>,
  members: readonly string[],
): Promise<void> {
  const now = await everyObject();
  for (const [name, { uid, spec }] of before) {
    expect(now.get(name)?.uid, name).toBe(uid);
    expect(now.get(name)?.spec, name).toMatchObject(spec);
  }
  for (const name of members) {
    await expectRotated(name);
    const { metadata, status } = await untilReady(name);
    expect(metadata.labels).toMatchObject({ 'rollcall.dev/cluster-name': name });
    expect(status).toMatchObject({ namespace: name, kubernetesVersion: 'v1.36.3' });
  }
}

let before: Awaited<ReturnType<typeof everyObject>>;

test('a hub of the release before takes agents and commands of this version', async () => {
  await goOnWith(release.cliMain);
  const made = await rollcall('token', 'create', '--uses', '10', '-o', 'json', '--wait', '--timeout', '2m');
  expect(made.code, made.stderr).toBe(0);
  ({ token } = JSON.parse(made.stdout) as { token: string });
  await letIn('older', release.cliMain);
  await letIn('newer');
  await api().create(resources.managedClusters, {
    apiVersion: 'rollcall.dev/v1alpha1',
    kind: 'ManagedCluster',
    metadata: { name: 'beforehand', labels: { tier: 'gold' } },
    spec: { clientId: 'beforehand-1', taints: [{ key: 'new', effect: 'NoSchedule' }] },
  });
  expect((await rollcall('cordon', 'older')).code).toBe(0);
  before = await everyObject();
  expect([...before.keys()]).toEqual(
    expect.arrayContaining([
      'managedclusters/beforehand',
      'managedclusters/local',
      'approvalpolicies/default',
    ]),
  );
});

test('it is upgraded where it is: every object stays, and every agent comes back by itself', async () => {
  await goOnWith(undefined);
  await expectWhole(before, ['older', 'newer', 'local']);
  await letIn('upgraded', release.cliMain);
});

test('it can go back to that release, with who came in meanwhile', async () => {
  before = await everyObject();
  await goOnWith(release.cliMain);
  await expectWhole(before, ['older', 'newer', 'local', 'upgraded']);
  await letIn('back');
});
