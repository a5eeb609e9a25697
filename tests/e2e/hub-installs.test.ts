import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type KubeObject, kubeconfigYaml, resources } from '@rollcall/shared/kubernetes';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runCli } from '../../cli/tests/run-cli.ts';
import { type ChartRunner, startChartRunner } from '../charts/chart-runner.ts';
import { startTestControlPlane, type TestControlPlane } from '../harness/control-plane.ts';
import { conditionOf, startTestEmbeddedHub, type TestEmbeddedHub, until } from '../harness/embedded.ts';

/** A hub, and a member that runs what is applied there; the hub installs the agent by a kubeconfig. */
let hub: TestEmbeddedHub;
let member: TestControlPlane;
let runner: ChartRunner;
let hubKubeconfig: string;
beforeAll(async () => {
  [hub, member] = await Promise.all([
    startTestEmbeddedHub(),
    startTestControlPlane({ withControllerManager: true, withManifests: false }),
  ]);
  runner = startChartRunner(member.admin, 'rollcall-agent');
  hubKubeconfig = join(hub.up.stateDir, 'hub-admin.kubeconfig');
  writeFileSync(hubKubeconfig, kubeconfigYaml(hub.up.plane.access), { mode: 0o600 });
});
afterAll(async () => {
  await runner[Symbol.asyncDispose]();
  await Promise.all([hub[Symbol.asyncDispose](), member[Symbol.asyncDispose]()]);
});

const namespace = 'rollcall-kubeconfigs';
/** The binding of the account by which the hub installs. */
const installer = { name: 'rollcall-installer' };
const cli = (...args: string[]) => runCli([...args, '--kubeconfig', hubKubeconfig]);
const secretOnHub = (name: string) => hub.up.admin.get(resources.secrets, { name, namespace });

async function untilMemberIsClean(): Promise<void> {
  await until('nothing of the agent is in the member', async () => {
    const kinds = [resources.clusterRoles, resources.clusterRoleBindings, resources.namespaces];
    const found = await Promise.all(kinds.map((kind) => member.admin.get(kind, { name: 'rollcall-agent' })));
    return found.every((one) => one === undefined);
  });
}

test('a cluster with a kubeconfig Secret, as Cluster API writes it, gets its agent from the hub, which then does without [FL-5, KA-2]', async () => {
  const name = 'from-capi';
  const system = await member.admin.get(resources.namespaces, { name: 'kube-system' });
  const secret = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: `${name}-kubeconfig`, namespace, labels: { 'cluster.x-k8s.io/cluster-name': name } },
    stringData: { value: kubeconfigYaml(member.plane.access) },
  };
  const token = {
    apiVersion: 'rollcall.dev/v1alpha1',
    kind: 'ClusterRegistrationToken',
    metadata: { name, namespace: 'rollcall-join' },
    spec: { publish: true, clusterName: name },
  };
  const spec = { clusterId: system?.metadata.uid, kubeconfigSecret: `${name}-kubeconfig` };
  await hub.up.admin.create(resources.secrets, secret as KubeObject, { namespace });
  await hub.up.admin.create(resources.managedClusters, {
    apiVersion: 'rollcall.dev/v1alpha1',
    kind: 'ManagedCluster',
    metadata: { name },
    spec,
  } as KubeObject);
  await hub.up.admin.create(resources.clusterRegistrationTokens, token as KubeObject);

  const cluster = await hub.untilReady(name);
  expect(cluster.spec.mode).toBe('Pull');
  const hosted = await until('the hub says so', async () => {
    const condition = conditionOf(await hub.cluster(name), 'Hosted');
    return condition?.status === 'True' ? condition : undefined;
  });
  expect(hosted).toMatchObject({ reason: 'AgentInstalled' });
  expect(hosted.message).toContain('not needed any more');
  await hub.up.admin.delete(resources.secrets, `${name}-kubeconfig`, { namespace });
  const key = (await hub.cluster(name))?.status?.keyFingerprint;
  await hub.untilReady(name);
  expect((await hub.cluster(name))?.status?.keyFingerprint).toBe(key);

  const { code, stderr } = await cli('unregister', name);
  expect(code, stderr).toBe(0);
  await untilMemberIsClean();
});

test('rollcall join --mode Pull leaves an agent in the member and no credentials on the hub [KA-1]', async () => {
  const name = 'edge-pull';
  const { code, stderr, stdout } = await cli(
    'join',
    name,
    '--member-kubeconfig',
    member.plane.adminKubeconfigPath,
    '--mode',
    'Pull',
  );
  expect({ code, stdout }, stderr + runner.log('rollcall-agent')).toEqual({
    code: 0,
    stdout: `cluster "${name}" is Ready\n`,
  });
  expect(await secretOnHub(`${name}-kubeconfig`)).toBeUndefined();
  expect(await member.admin.get(resources.clusterRoleBindings, installer)).toBeUndefined();
  await hub.untilReady(name);
  const gone = await cli('unregister', name);
  expect(gone.code, gone.stderr).toBe(0);
  await untilMemberIsClean();
});

/** The line that an error printed between backticks, as somebody pastes it. */
function pasted(stderr: string, verb: string): string[] {
  const [, line = ''] = new RegExp(`\`rollcall (${verb} [^\`]+)\``).exec(stderr) ?? [];
  return line.split(' ');
}

/** Types what a join said whose time was up, and then undoes it. */
async function waitsOn(said: string, name: string): Promise<void> {
  const again = await runCli(pasted(said, 'join'));
  expect({ code: again.code, stdout: again.stdout }, again.stderr).toEqual({
    code: 0,
    stdout: `cluster "${name}" is Ready\n`,
  });
  expect(await secretOnHub(`${name}-kubeconfig`)).toBeUndefined();
  expect(await member.admin.get(resources.clusterRoleBindings, installer)).toBeUndefined();
  const undone = await runCli(pasted(said, 'unregister'));
  expect(undone.code, undone.stderr).toBe(0);
  expect(await hub.cluster(name)).toBeUndefined();
  await untilMemberIsClean();
}

test('a join whose time is up leaves what was made, and the two commands that it prints wait on and undo', async () => {
  const name = 'edge-late';
  const given = ['--member-kubeconfig', member.plane.adminKubeconfigPath, '--mode', 'Pull'];
  const late = await cli('join', name, ...given, '--timeout', '0s');
  expect(late.code, late.stderr).not.toBe(0);
  expect(late.stderr).toContain('the hub goes on');
  // What the hub needs to go on is there.
  expect(await secretOnHub(`${name}-kubeconfig`)).toBeDefined();
  expect(await member.admin.get(resources.clusterRoleBindings, installer)).toBeDefined();

  await waitsOn(late.stderr, name);

  // Meanwhile the hub may have come to its end.
  const ended = await cli('join', name, ...given, '--timeout', '0s');
  await hub.untilReady(name);
  await waitsOn(ended.stderr, name);

  const never = await cli('join', 'edge-never', ...given, '--timeout', '0s');
  const gone = await runCli(pasted(never.stderr, 'unregister'));
  expect(gone.code, gone.stderr).toBe(0);
  expect(await hub.cluster('edge-never')).toBeUndefined();
  expect(await secretOnHub('edge-never-kubeconfig')).toBeUndefined();
  expect(await member.admin.get(resources.clusterRoleBindings, installer)).toBeUndefined();
});
