import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openEventLog } from '@rollcall/shared/bus';
import { applyManifests, type KubeObject, resources } from '@rollcall/shared/kubernetes';
import { rollcallVersion } from '@rollcall/shared/service';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import { runCli } from '../../cli/tests/run-cli.ts';
import { openHubFiles } from '../../cli/trust/hub-files.ts';
import { manifestsIn, onceServed } from '../../cli/up/hub-manifests.ts';
import { connectAsOps } from '../../cli/up/ops-connection.ts';
import { startTestControlPlane, type TestControlPlane } from '../harness/control-plane.ts';
import { type ChartRunner, startChartRunner } from './chart-runner.ts';
import { helm, helmWithChart } from './helm.ts';
import { oneMachine } from './one-machine.ts';
import { type SeenHub, seenHub } from './seen-hub.ts';

const folder = mkdtempSync(join(tmpdir(), 'rollcall-chart-upgrade-'));
const keys = join(folder, 'keys');
const system = 'rollcall-system';
const older = '0.0.9';

let plane: TestControlPlane;
let runners: { hub: ChartRunner; agent: ChartRunner };
let hub: SeenHub;
let address: string;
let valuesFile: string;
beforeAll(async () => {
  plane = await startTestControlPlane({ withControllerManager: true, withManifests: false });
  runners = {
    hub: startChartRunner(plane.admin, system),
    agent: startChartRunner(plane.admin, 'rollcall-agent'),
  };
  hub = seenHub({ hub: plane.admin, workloads: plane.admin }, runners);
  ({ address, valuesFile } = await oneMachine(folder));
});
afterAll(async () => {
  await runners.agent[Symbol.asyncDispose]();
  await runners.hub[Symbol.asyncDispose]();
  await plane[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

const rollcall = (...args: string[]) => runCli([...args, '--kubeconfig', plane.plane.adminKubeconfigPath]);
const kubeconfig = () => plane.plane.adminKubeconfigPath;
const helmHub = (verb: readonly string[], chart: string) =>
  helmWithChart(verb, chart, { values: given, namespace: system, kubeconfig: kubeconfig() });
const helmAgent = (verb: readonly string[], chart: string) =>
  helmWithChart(verb, chart, { values: agentValues, namespace: 'rollcall-agent', kubeconfig: kubeconfig() });

/** A chart as its version before could have been: with an object that is gone by now, and without one that came since. */
function chartBefore(name: string): string {
  const chart = join(folder, name);
  cpSync(join(import.meta.dirname, '..', '..', 'deploy', 'charts', name), chart, { recursive: true });
  const about = join(chart, 'Chart.yaml');
  writeFileSync(about, readFileSync(about, 'utf8').replaceAll(rollcallVersion, older));
  rmSync(join(chart, 'templates', 'network-policy.yaml'));
  const metadata = '{ name: rollcall-former, namespace: {{ .Release.Namespace }} }';
  const former = `apiVersion: v1\nkind: ConfigMap\nmetadata: ${metadata}\n`;
  writeFileSync(join(chart, 'templates', 'former.yaml'), former);
  return chart;
}

const versionOf = async (name: string, namespace: string) =>
  (await plane.admin.get<KubeObject>(resources.deployments, { name, namespace }))?.metadata.labels?.[
    'app.kubernetes.io/version'
  ];
const hasFormer = async (namespace: string) =>
  (await plane.admin.get(resources.configMaps, { name: 'rollcall-former', namespace })) !== undefined;

/** What the hub has written, in order. */
async function history(): Promise<string[]> {
  const nc = await connectAsOps(keys, { ...openHubFiles(keys).address, servers: [address] });
  try {
    const log = await openEventLog(nc, { epoch: 1, source: '/rollcall/test' });
    const events = await Array.fromAsync(log.scan({ filter: '>' }));
    return events.map(({ sequence, type }) => `${sequence} ${type}`);
  } finally {
    await nc.close();
  }
}

let given: { hub: { caCertHash: string } };
let agentValues: object;

test('charts of the version before become those of this one: keys, history and members stay [RO-1]', async () => {
  const flags = ['--keys', keys, '--values', valuesFile, '--advertise', address];
  const made = await rollcall('install', 'hub', '--only-keys', ...flags);
  expect(made.code, made.stderr).toBe(0);
  given = { ...(parse(readFileSync(valuesFile, 'utf8')) as object), ...(parse(made.stdout) as typeof given) };
  const installed = await helmHub(['install', 'hub'], chartBefore('hub'));
  expect(installed.code, installed.stderr).toBe(0);
  await hub.untilAllRun();
  await onceServed(() => applyManifests(plane.admin, manifestsIn('embedded')));
  const asked = await rollcall('token', 'create', '-o', 'json', '--wait', '--timeout', '2m');
  expect(asked.code, asked.stderr).toBe(0);
  const { token } = JSON.parse(asked.stdout) as { token: string };
  agentValues = { hub: address, caCertHash: given.hub.caCertHash, token, clusterName: 'own' };
  const agent = await helmAgent(['install', 'agent', '--create-namespace'], chartBefore('agent'));
  expect(agent.code, agent.stderr).toBe(0);
  const key = (await hub.readiness('own', 'True')).status?.keyFingerprint;
  expect(await versionOf('rollcall-registrar', system)).toBe(older);
  const before = await history();

  for (const [upgrade, name, namespace] of [
    [() => helmHub(['upgrade', 'hub'], 'hub'), 'rollcall-registrar', system],
    [() => helmAgent(['upgrade', 'agent'], 'agent'), 'rollcall-agent', 'rollcall-agent'],
  ] as const) {
    const upgraded = await upgrade();
    expect(upgraded.code, upgraded.stderr).toBe(0);
    expect(await versionOf(name, namespace)).toBe(rollcallVersion);
    expect(await hasFormer(namespace)).toBe(false);
    await hub.untilAllRun();
    expect((await hub.readiness('own', 'True')).status?.keyFingerprint).toBe(key);
  }
  expect((await history()).slice(0, before.length)).toEqual(before);

  const back = await helm(['rollback', 'hub', '1', '--namespace', system], kubeconfig());
  expect(back.code, back.stderr).toBe(0);
  expect(await versionOf('rollcall-registrar', system)).toBe(older);
  await hub.untilAllRun();
  expect((await hub.readiness('own', 'True')).status?.keyFingerprint).toBe(key);
});

test('another release over it, and one without Helm, are refused in words that help', async () => {
  const other = await helmHub(['install', 'second'], 'hub');
  expect(other.code).not.toBe(0);
  expect(other.stderr).toContain('release "hub" of Helm is installed here; upgrade it by that name');
  const ours = await rollcall('install', 'hub', '--keys', keys, '--values', valuesFile);
  expect(ours.code).toBe(3);
  expect(ours.stderr).toContain('belongs to release "hub" of Helm');
});

test('what is left of a release that is half removed belongs to it until Helm has forgotten it [RO-1]', async () => {
  const key = (await hub.cluster('own'))?.status?.keyFingerprint;
  const releases = async () =>
    plane.admin.list<KubeObject>(resources.secrets, { namespace: system, labelSelector: 'owner=helm' });
  const newest = (await releases()).find(({ metadata }) => metadata.labels?.['status'] === 'deployed');
  const uninstalling = { metadata: { labels: { status: 'uninstalling' } } };
  await plane.admin.mergePatch(resources.secrets, newest?.metadata.name ?? '', uninstalling, {
    namespace: system,
  });
  await plane.admin.delete(resources.deployments, 'rollcall-registrar', { namespace: system });
  const install = () => rollcall('install', 'hub', '--keys', keys, '--values', valuesFile, '--timeout', '3m');
  const refused = await install();
  expect(refused.code).toBe(3);
  expect(refused.stderr).toContain('belongs to release "hub" of Helm, which is uninstalling');

  for (const { metadata } of await releases())
    await plane.admin.delete(resources.secrets, metadata.name, { namespace: system });
  const installed = await install();
  expect(installed.code, installed.stderr).toBe(0);
  expect((await hub.readiness('own', 'True')).status?.keyFingerprint).toBe(key);
  expect(await versionOf('rollcall-projector', system)).toBe(rollcallVersion);
});
