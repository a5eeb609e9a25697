import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type KubeObject, resources } from '@rollcall/shared/kubernetes';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { isAvailable } from '../../cli/install/until-available.ts';
import type { Deployment } from '../../cli/install/workloads.ts';
import { runCli } from '../../cli/tests/run-cli.ts';
import { startTestControlPlane, type TestControlPlane } from '../harness/control-plane.ts';
import { conditionOf, startTestEmbeddedHub, type TestEmbeddedHub, until } from '../harness/embedded.ts';
import { everythingIn } from '../harness/everything.ts';
import { type ChartRunner, startChartRunner } from './chart-runner.ts';
import { helm, helmWithChart } from './helm.ts';

const namespace = 'rollcall-agent';
const name = 'rollcall-agent';

const folder = mkdtempSync(join(tmpdir(), 'rollcall-values-'));
let hub: TestEmbeddedHub;
let member: TestControlPlane;
let runner: ChartRunner;
beforeAll(async () => {
  [hub, member] = await Promise.all([
    startTestEmbeddedHub(),
    startTestControlPlane({ withControllerManager: true, withManifests: false }),
  ]);
  runner = startChartRunner(member.admin, namespace);
});
afterAll(async () => {
  await runner[Symbol.asyncDispose]();
  await Promise.all([hub[Symbol.asyncDispose](), member[Symbol.asyncDispose]()]);
  rmSync(folder, { recursive: true, force: true });
});

const rollcall = (...args: string[]) =>
  runCli([...args, '--member-kubeconfig', member.plane.adminKubeconfigPath]);
const chart = (verb: readonly string[], values: object | string) =>
  helmWithChart(verb, 'agent', { values, namespace, kubeconfig: member.plane.adminKubeconfigPath });
const uninstallRelease = () =>
  helm(['uninstall', 'agent', '--namespace', namespace], member.plane.adminKubeconfigPath);
const hubFlags = () => ['--hub', hub.up.addresses[0] ?? '', '--ca-cert-hash', hub.up.hub.caCertHash];
const keys = () => member.admin.get(resources.secrets, { name, namespace });
const keyOf = async (cluster: string) => (await hub.cluster(cluster))?.status?.keyFingerprint;

/** The values that the hub itself hands out for a token. */
async function publishedValues(token: string, spec: object): Promise<Record<string, unknown>> {
  const where = { namespace: 'rollcall-join' };
  const object = {
    apiVersion: 'rollcall.dev/v1alpha1',
    kind: 'ClusterRegistrationToken',
    metadata: { name: token, ...where },
    spec: { publish: true, ...spec },
  };
  await hub.up.admin.create(resources.clusterRegistrationTokens, object, where);
  const values = await until(`token ${token} is published`, async () => {
    type Secret = KubeObject & { data?: Record<string, string> };
    return (await hub.up.admin.get<Secret>(resources.secrets, { name: token, ...where }))?.data?.['values'];
  });
  return parse(Buffer.from(values, 'base64').toString('utf8')) as Record<string, unknown>;
}

async function untilRuns(generation: number): Promise<void> {
  await until(`generation ${generation} of the Deployment runs`, async () => {
    const found = await member.admin.get<Deployment>(resources.deployments, { name, namespace });
    return found !== undefined && found.metadata.generation === generation && isAvailable(found);
  });
}

/** What the agent shows of itself on its Deployment. */
async function agentSays(): Promise<Record<string, { status: string; reason: string; message: string }>> {
  type Shown = KubeObject<
    unknown,
    { conditions?: { type: string; status: string; reason: string; message: string }[] }
  >;
  const found = await member.admin.get<Shown>(resources.deployments, { name, namespace });
  return Object.fromEntries((found?.status?.conditions ?? []).map(({ type, ...said }) => [type, said]));
}

/** Made by hand, so that the API server refuses what is not restricted. */
async function makeNamespace(): Promise<void> {
  await member.admin.create(resources.namespaces, {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: namespace, labels: { 'pod-security.kubernetes.io/enforce': 'restricted' } },
  });
}

test('a published token is all that the chart needs, with the rights of the chart and no others; an upgrade keeps the key, and a changed token changes nothing [FL-1] [FL-2] [RO-5]', async () => {
  await makeNamespace();
  const values = await publishedValues('by-chart', { allowLabels: ['site'] });
  const given = { ...values, clusterName: 'by-chart', labels: { site: 'north', tier: 'gold' } };
  const installed = await chart(['install', 'agent'], given);
  expect(installed.stderr).toBe('');
  expect(installed.stdout).toContain('rollcall approve by-chart');
  // The namespace has one already.
  expect(installed.stdout).not.toContain('Pod Security level');
  const cluster = await hub.untilReady('by-chart').catch((error: unknown) => {
    throw new Error(runner.log(name), { cause: error });
  });
  expect(cluster.metadata.labels).toMatchObject({ site: 'north' });
  expect(cluster.metadata.labels).not.toHaveProperty('tier');

  expect(await agentSays()).toMatchObject({
    Connected: { status: 'True', reason: 'Connected' },
    Registered: { status: 'True', reason: 'Admitted' },
  });
  const key = await keyOf('by-chart');
  const other = await publishedValues('never-used', {});
  const changed = { ...given, token: other['token'], resources: { limits: { memory: '256Mi' } } };
  expect((await chart(['upgrade', 'agent'], changed)).stderr).toBe('');
  await untilRuns(2);
  await hub.untilReady('by-chart');
  expect(await keyOf('by-chart')).toBe(key);
  const unused = await hub.up.admin.get<KubeObject<unknown, { used?: number }>>(
    resources.clusterRegistrationTokens,
    { name: 'never-used', namespace: 'rollcall-join' },
  );
  expect(unused?.status?.used ?? 0).toBe(0);
});

test('whether the agent is connected, and why not, is read in the member [RO-6]', async () => {
  await hub.up.natsServer()?.kill();
  const away = await until('it says that its hub is away', async () => {
    const { Connected } = await agentSays();
    return Connected?.status === 'False' && Connected;
  });
  expect(away).toMatchObject({ reason: 'HubUnreachable', message: expect.stringMatching(/\S. \S/) });
  expect((await agentSays())['Registered']).toMatchObject({ status: 'True' });
  expect((await rollcall('doctor')).stdout).toMatch(/finding +agent: Connected is False \(HubUnreachable\)/);
  await hub.up.restartNats();
  await until('and that it is back', async () => (await agentSays())['Connected']?.status === 'True');
  expect((await rollcall('doctor')).stdout).toMatch(/ok +agent: runs, and is connected and registered/);
});

test('two installers keep out of each other’s way, and the keys stay through both [RO-1]', async () => {
  const key = await keyOf('by-chart');
  for (const [verb = '', flags = []] of [['install', hubFlags()], ['uninstall']] as [string, string[]?][]) {
    const refused = await rollcall(verb, 'agent', ...flags);
    expect(refused.code).toBe(3);
    expect(refused.stderr).toContain('belongs to release "agent" of Helm');
  }
  expect((await uninstallRelease()).code).toBe(0);
  await hub.untilReady('by-chart', 'False');
  expect(conditionOf(await hub.cluster('by-chart'), 'Ready')?.reason).toBe('AgentStopped');
  expect(await keys()).toBeDefined();

  const again = await rollcall('install', 'agent', ...hubFlags(), '--cluster-name', 'by-chart');
  expect(again.stderr).toContain('an earlier registration left its own here');
  expect(again).toMatchObject({ code: 0, stdout: 'the agent runs\n' });
  await hub.untilReady('by-chart');
  expect(await keyOf('by-chart')).toBe(key);

  const over = await chart(['install', 'agent'], { hub: 'h:1', caCertHash: hub.up.hub.caCertHash });
  expect(over.code).not.toBe(0);
  expect(over.stderr).toContain('`rollcall uninstall agent` removes it');
});

test('install says what it would do, and what keeps a pod from starting [RO-1]', async () => {
  const flags = hubFlags();
  const dry = await rollcall('install', 'agent', ...flags, '--dry-run');
  expect(dry).toMatchObject({ code: 0, stdout: 'the agent can be installed (dry run)\n' });
  expect(dry.stderr).toMatch(/Deployment rollcall-agent: would be changed \(.*spec\.template/);
  const found = await member.admin.get(resources.deployments, { name, namespace });
  expect(found?.metadata.generation).toBe(1);

  const values = { env: [{ name: 'PROXY', valueFrom: { secretKeyRef: { name: 'forgotten', key: 'url' } } }] };
  const file = join(folder, 'values.yaml');
  writeFileSync(file, stringify(values));
  const stuck = await rollcall('install', 'agent', ...flags, '--values', file, '--timeout', '10s');
  expect(stuck.code).toBe(6);
  expect(stuck.stderr).toMatch(
    /pod rollcall-agent-\d+: container agent: CreateContainerConfigError: .*"forgotten"/,
  );
});

test('uninstall removes what it made and says what stays; the keys go when that is said [RO-1]', async () => {
  const first = await rollcall('uninstall', 'agent');
  expect(first).toMatchObject({ code: 0, stdout: 'the agent is removed\n' });
  expect(first.stderr).toContain('stays: namespace rollcall-agent with Secret rollcall-agent');
  await hub.untilReady('by-chart', 'False');
  expect(await keys()).toBeDefined();
  const second = await rollcall('uninstall', 'agent', '--with-keys');
  expect(second.code).toBe(0);
  await until('nothing of the agent is left', async () => {
    const left = (await everythingIn(member.admin)).filter((one) => one.includes('rollcall'));
    return left.length === 0;
  });
  const without = await rollcall('install', 'agent', ...hubFlags());
  expect(without.stderr).toContain('there is no token, and no key of an earlier registration');
});
