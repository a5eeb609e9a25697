import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { applyManifests, type KubeObject, resources } from '@rollcall/shared/kubernetes';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import { runCli } from '../../cli/tests/run-cli.ts';
import { manifestsIn, onceServed } from '../../cli/up/hub-manifests.ts';
import { startTestControlPlane, type TestControlPlane } from '../harness/control-plane.ts';
import { until } from '../harness/embedded.ts';
import { everythingIn } from '../harness/everything.ts';
import { type ChartRunner, startChartRunner } from './chart-runner.ts';
import { helm, helmWithChart } from './helm.ts';
import { oneMachine } from './one-machine.ts';
import { type SeenHub, seenHub } from './seen-hub.ts';

const folder = mkdtempSync(join(tmpdir(), 'rollcall-hosted-hub-'));
const system = 'rollcall-system';

/** What people see of the hub; no pod runs there. */
let shown: TestControlPlane;
/** Where its pods run. */
let management: TestControlPlane;
let runners: readonly ChartRunner[];
let address: string;
let valuesFile: string;
let hub: SeenHub;
beforeAll(async () => {
  const bare = { withControllerManager: true, withManifests: false };
  [shown, management] = await Promise.all([startTestControlPlane(bare), startTestControlPlane(bare)]);
  const [ofHub, ofAgent] = [
    startChartRunner(management.admin, system),
    startChartRunner(management.admin, 'rollcall-agent'),
  ];
  // For the tokens that Secrets ask for.
  runners = [ofAgent, ofHub, startChartRunner(shown.admin, system)];
  hub = seenHub({ hub: shown.admin, workloads: management.admin }, { hub: ofHub, agent: ofAgent });
  ({ address, valuesFile } = await oneMachine(folder));
});
afterAll(async () => {
  for (const runner of runners) await runner[Symbol.asyncDispose]();
  await Promise.all([shown[Symbol.asyncDispose](), management[Symbol.asyncDispose]()]);
  rmSync(folder, { recursive: true, force: true });
});

const kubeconfigOf = ({ plane }: TestControlPlane) => plane.adminKubeconfigPath;
const rollcall = (...args: string[]) => runCli([...args, '--kubeconfig', kubeconfigOf(shown)]);
const there = () => ['--workloads-kubeconfig', kubeconfigOf(management)];
const installFlags = () =>
  ['--advertise', address, '--keys', join(folder, 'keys'), '--values', valuesFile, '--timeout', '3m'].concat(
    there(),
  );
const chart = (verb: string, where: TestControlPlane, values: object) =>
  helmWithChart([verb, 'hub'], 'hub', { values, namespace: system, kubeconfig: kubeconfigOf(where) });
const uninstallRelease = (where: TestControlPlane, name: string, namespace: string) =>
  helm(['uninstall', name, '--namespace', namespace], kubeconfigOf(where));
const ours = async ({ admin }: TestControlPlane) =>
  (await everythingIn(admin)).filter((one) => one.includes('rollcall'));

let given: { hub: { caCertHash: string } };

test('keys first: the kubeconfigs of services come with the accounts that they are of [RO-3]', async () => {
  const keys = () => rollcall('install', 'hub', '--only-keys', ...installFlags());
  const first = await keys();
  expect(first.code, first.stderr).toBe(0);
  expect(first.stderr).toContain('no kubeconfigs yet: install the chart on the hub');
  given = {
    ...(parse(readFileSync(valuesFile, 'utf8')) as object),
    ...(parse(first.stdout) as typeof given),
  };
  const installed = await chart('install', shown, { ...given, parts: { workloads: false } });
  expect(installed.code, installed.stderr).toBe(0);
  const second = await keys();
  expect(second.code, second.stderr).toBe(0);
  expect(second.stderr).toContain('5 kubeconfigs of the hub');
});

test('services in a management cluster work on the hub by kubeconfigs in Secrets, and leave nothing else there [RO-3]', async () => {
  const installed = await chart('install', management, { ...given, parts: { kubernetes: false } });
  expect(installed.code, installed.stderr).toBe(0);
  await hub.untilAllRun();
  const kinds = new Set((await ours(management)).map((one) => one.split(' ')[0]));
  expect([...kinds].toSorted()).toEqual([
    'apps/deployments',
    'apps/statefulsets',
    'networking.k8s.io/networkpolicies',
    'policy/poddisruptionbudgets',
    'v1/configmaps',
    'v1/namespaces',
    'v1/pods',
    'v1/secrets',
    'v1/serviceaccounts',
    'v1/services',
  ]);
  type WithPod = KubeObject<{ template: { spec: { automountServiceAccountToken?: boolean } } }>;
  const found = await management.admin.list<WithPod>(resources.deployments, { namespace: system });
  for (const { spec } of found) expect(spec?.template.spec.automountServiceAccountToken).toBe(false);

  await onceServed(() => applyManifests(shown.admin, manifestsIn('embedded')));
  const made = await rollcall('token', 'create', '-o', 'json', '--wait', '--timeout', '2m');
  expect(made.code, made.stderr).toBe(0);
  const { token } = JSON.parse(made.stdout) as { token: string };
  const { caCertHash } = given.hub;
  const agent = await helmWithChart(['install', 'agent', '--create-namespace'], 'agent', {
    values: { hub: address, caCertHash, token, clusterName: 'management' },
    namespace: 'rollcall-agent',
    kubeconfig: kubeconfigOf(management),
  });
  expect(agent.code, agent.stderr).toBe(0);
  const ready = await hub.readiness('management', 'True');
  expect(ready.status?.namespace).toBe('management');
  expect(await management.admin.get(resources.namespaces, { name: 'management' })).toBeUndefined();
});

test('the command installs and removes both parts, and goes on where the releases were [RO-3]', async () => {
  const key = (await hub.cluster('management'))?.status?.keyFingerprint;
  for (const place of [management, shown])
    expect((await uninstallRelease(place, 'hub', system)).code).toBe(0);
  const installed = await rollcall('install', 'hub', ...installFlags());
  expect(installed.code, installed.stderr).toBe(0);
  expect(installed.stdout).toBe('the hub runs\n');
  const back = await hub.readiness('management', 'True');
  expect(back.status?.keyFingerprint).toBe(key);

  await uninstallRelease(management, 'agent', 'rollcall-agent');
  await management.admin.delete(resources.namespaces, 'rollcall-agent');
  const removed = await rollcall('uninstall', 'hub', '--with-data', ...there());
  expect(removed.code, removed.stderr).toBe(0);
  await shown.admin.delete(resources.namespaces, 'management');
  for (const place of [management, shown]) {
    await until('nothing is left', async () => (await ours(place)).length === 0).catch(() => undefined);
    expect(await ours(place)).toEqual([]);
  }
});
