import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { applyManifests, resources } from '@rollcall/shared/kubernetes';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import { runCli } from '../../cli/tests/run-cli.ts';
import { manifestsIn, onceServed } from '../../cli/up/hub-manifests.ts';
import { startTestControlPlane, type TestControlPlane } from '../harness/control-plane.ts';
import { until } from '../harness/embedded.ts';
import { everythingIn } from '../harness/everything.ts';
import { type ChartRunner, startChartRunner } from './chart-runner.ts';
import { helm, helmWithChart } from './helm.ts';
import { hubServices, oneMachine } from './one-machine.ts';
import { type SeenHub, seenHub } from './seen-hub.ts';

const folder = mkdtempSync(join(tmpdir(), 'rollcall-hub-chart-'));
const keys = join(folder, 'keys');
const system = 'rollcall-system';

let plane: TestControlPlane;
let runner: ChartRunner;
let agentRunner: ChartRunner;
let address: string;
let valuesFile: string;
let hub: SeenHub;
beforeAll(async () => {
  plane = await startTestControlPlane({ withControllerManager: true, withManifests: false });
  runner = startChartRunner(plane.admin, system);
  agentRunner = startChartRunner(plane.admin, 'rollcall-agent');
  hub = seenHub({ hub: plane.admin, workloads: plane.admin }, { hub: runner, agent: agentRunner });
  ({ address, valuesFile } = await oneMachine(folder));
});
afterAll(async () => {
  await agentRunner[Symbol.asyncDispose]();
  await runner[Symbol.asyncDispose]();
  await plane[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

const rollcall = (...args: string[]) => runCli([...args, '--kubeconfig', plane.plane.adminKubeconfigPath]);
const helmHub = (verb: readonly string[], values: object) =>
  helmWithChart(verb, 'hub', { values, namespace: system, kubeconfig: plane.plane.adminKubeconfigPath });

let given: Record<string, unknown>;

test('keys first: Secrets for the chart, values for its release, and nothing secret in those [RO-1]', async () => {
  const made = await rollcall(
    'install',
    'hub',
    '--only-keys',
    '--advertise',
    address,
    '--keys',
    keys,
    '--values',
    valuesFile,
  );
  expect(made.code, made.stderr).toBe(0);
  given = { ...(parse(readFileSync(valuesFile, 'utf8')) as object), ...(parse(made.stdout) as object) };
  expect(made.stdout).not.toMatch(/SEED|PRIVATE|S[UAO][A-Z0-9]{40}/);
  const names = (await plane.admin.list(resources.secrets, { namespace: system })).map(
    ({ metadata }) => metadata.name,
  );
  expect(names.toSorted()).toEqual([
    ...[...hubServices, 'setup'].toSorted().map((name) => `rollcall-identity-${name}`),
    'rollcall-nats',
    'rollcall-ops',
  ]);
});

test('hub and agent, installed by chart, reach Ready with the rights of their charts and no others [RO-1] [RO-2]', async () => {
  const installed = await helmHub(['install', 'hub'], given);
  expect(installed.code, installed.stderr).toBe(0);
  await hub.untilAllRun();
  await onceServed(() => applyManifests(plane.admin, manifestsIn('embedded')));
  const made = await rollcall('token', 'create', '-o', 'json', '--wait', '--timeout', '2m');
  expect(made.code, made.stderr).toBe(0);
  const { token } = JSON.parse(made.stdout) as { token: string };
  const { caCertHash } = (given as { hub: { caCertHash: string } }).hub;
  const values = { hub: address, caCertHash, token, clusterName: 'own' };
  const agent = await helmWithChart(['install', 'agent', '--create-namespace'], 'agent', {
    values,
    namespace: 'rollcall-agent',
    kubeconfig: plane.plane.adminKubeconfigPath,
  });
  expect(agent.code, agent.stderr).toBe(0);
  const ready = await hub.readiness('own', 'True');
  expect(ready.status?.namespace).toBe('own');
});

const installFlags = () => ['--keys', keys, '--values', valuesFile];

test('an upgrade of the chart restarts the hub, and clusters come back by themselves [RO-1]', async () => {
  const refused = await rollcall('install', 'hub', ...installFlags());
  expect(refused.code).toBe(3);
  expect(refused.stderr).toContain('belongs to release "hub" of Helm');
  const key = (await hub.cluster('own'))?.status?.keyFingerprint;
  const changed = { ...given, tolerations: [{ operator: 'Exists' }] };
  const upgraded = await helmHub(['upgrade', 'hub'], changed);
  expect(upgraded.code, upgraded.stderr).toBe(0);
  await hub.untilAllRun();
  const ready = await hub.readiness('own', 'True');
  expect(ready.status?.keyFingerprint).toBe(key);
});

test('a release that goes leaves what people have; the command goes on from there, with the same keys only [RO-1]', async () => {
  const gone = await helm(['uninstall', 'hub', '--namespace', system], plane.plane.adminKubeconfigPath);
  expect(gone.code, gone.stderr).toBe(0);
  expect(await hub.cluster('own')).toBeDefined();
  expect(await plane.admin.get(resources.namespaces, { name: 'rollcall-join' })).toBeDefined();

  const flags = [...installFlags(), '--advertise', address];
  const again = await rollcall('install', 'hub', ...flags, '--timeout', '3m');
  expect(again.code, again.stderr).toBe(0);
  expect(again.stdout).toBe('the hub runs\n');
  await hub.readiness('own', 'True');
  const other = await rollcall('install', 'hub', '--keys', join(folder, 'other'), '--advertise', address);
  expect(other.code).toBe(3);
  expect(other.stderr).toContain('has no keys');
  const unchanged = await rollcall('install', 'hub', ...installFlags(), '--timeout', '3m');
  expect(unchanged.stderr).not.toContain('[install]');
  expect(unchanged.code).toBe(0);
});

test('keys that run roll over from the directory that has them; a backup holds all of the hub', async () => {
  const rotate = (key: string) => rollcall('trust', 'rotate', key, '--keys', keys);
  for (const key of ['service-keys', 'signing-keys', 'answer-key']) {
    const rotated = await rotate(key);
    expect(rotated.code, rotated.stderr).toBe(0);
  }
  await until('every service has taken its new user', async () => (await rotate('service-keys')).code === 0);
  await hub.untilAllRun();
  await hub.readiness('own', 'True');
  const refused = await rotate('ca');
  expect(refused.code).toBe(3);
  expect(refused.stderr).toContain('"ca" of this hub cannot be rotated yet');

  const passphrase = join(folder, 'passphrase');
  writeFileSync(passphrase, 'correct horse battery staple');
  const sealed = ['--passphrase-file', passphrase];
  const file = join(folder, 'hub.backup');
  const kept = await rollcall('backup', file, '--state-dir', keys, ...sealed);
  expect(kept.code, kept.stderr).toBe(0);
  expect(kept.stdout).toContain('keys sealed');
  const over = await runCli(['restore', file, '--state-dir', keys, '--keep-kubernetes', ...sealed]);
  expect(over.stderr).toContain('has the keys of a hub whose history is in a cluster');
  const restored = await runCli(['restore', file, '--state-dir', join(folder, 'restored'), ...sealed]);
  expect(restored.code, restored.stderr).toBe(0);
  expect(restored.stdout).toContain('epoch 2 begins');
});

test('uninstall says who is still registered and what stays, and removes that with a flag [RO-1]', async () => {
  const kept = await rollcall('uninstall', 'hub');
  expect(kept).toMatchObject({ code: 0, stdout: 'the hub is removed\n' });
  expect(kept.stderr).toContain('1 clusters are registered here (own)');
  expect(kept.stderr).toContain('stays: namespace rollcall-system with the keys');
  expect(await hub.cluster('own')).toBeDefined();

  expect((await rollcall('uninstall', 'hub', '--with-data')).code).toBe(0);
  const agent = await runCli([
    'uninstall',
    'agent',
    '--with-keys',
    '--member-kubeconfig',
    plane.plane.adminKubeconfigPath,
  ]);
  expect(agent.code).toBe(3);
  await helm(['uninstall', 'agent', '--namespace', 'rollcall-agent'], plane.plane.adminKubeconfigPath);
  await plane.admin.delete(resources.namespaces, 'rollcall-agent');
  await plane.admin.delete(resources.namespaces, 'own');
  const left = async () => (await everythingIn(plane.admin)).filter((one) => one.includes('rollcall'));
  await until('nothing is left', async () => (await left()).length === 0).catch(() => undefined);
  expect(await left()).toEqual([]);
});
