import { type KubeObject, type Resource, resources } from '@rollcall/shared/kubernetes';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { TestControlPlane } from '../harness/control-plane.ts';
import { until } from '../harness/embedded.ts';
import { everythingIn } from '../harness/everything.ts';
import { type ChartHub, startChartHub } from './chart-hub.ts';

const system = 'rollcall-system';
const services: Resource = {
  group: '',
  version: 'v1',
  plural: 'services',
  kind: 'Service',
  namespaced: true,
};

let hub: ChartHub;
/** What people see of the hub; no pod runs there. */
let shown: TestControlPlane;
/** Where its pods run. */
let management: TestControlPlane;
beforeAll(async () => {
  hub = await startChartHub({ areApart: true });
  ({ plane: shown, workloads: management } = hub);
});
afterAll(() => hub[Symbol.asyncDispose]());

const ours = async ({ admin }: TestControlPlane) =>
  (await everythingIn(admin)).filter((one) => one.includes('rollcall'));

let given: object;

test('keys first: the kubeconfigs of services come with the accounts that they are of [RO-3]', async () => {
  const first = await hub.makeKeys();
  expect(first.made.stderr).toContain('no kubeconfigs yet: install the chart on the hub');
  given = first.values;
  const installed = await hub.chart(
    ['install', 'hub'],
    'hub',
    { ...given, parts: { workloads: false } },
    shown,
  );
  expect(installed.code, installed.stderr).toBe(0);
  const second = await hub.makeKeys();
  expect(second.made.stderr).toContain('7 kubeconfigs of the hub');
});

test('services in a management cluster work on the hub by kubeconfigs in Secrets, and leave nothing else there [RO-3]', async () => {
  const installed = await hub.chart(['install', 'hub'], 'hub', { ...given, parts: { kubernetes: false } });
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

  await hub.installAgent('management', { memberAccess: { users: { 'rollcall-admin': true } } });
  expect((await hub.cluster('management'))?.status?.namespace).toBe('management');
  expect(await management.admin.get(resources.namespaces, { name: 'management' })).toBeUndefined();
});

test('the API server of the hub finds the member gateway by a name that the operator gives; where it leads nowhere, doctor says so [CN-8]', async () => {
  const ask = () => hub.rollcall('kubectl', 'management', '--', 'auth', 'whoami', '-o', 'json');
  const isReached = async () => (await ask()).stdout.includes('"rollcall:rollcall-admin"');
  const leadTo = (externalName: string) =>
    shown.admin.mergePatch(
      services,
      'rollcall-member-gateway',
      { spec: { externalName } },
      { namespace: system },
    );
  await until('a person reaches the member', isReached);
  await leadTo('gateway.invalid');
  const said = await until('the doctor says it', async () => {
    const { stdout } = await hub.rollcall('doctor');
    return stdout.includes('does not reach the member gateway') && stdout;
  });
  expect(said).toContain('memberGateway.externalName');
  expect((await ask()).stderr).not.toBe('');
  await leadTo('localhost');
  await until('a person reaches the member again', isReached);
});

test('who names the cluster of the pods is told how they are', async () => {
  const doctor = async (...flags: string[]) => (await hub.rollcall('doctor', ...flags)).stdout;
  expect(await doctor()).toContain('pods: none of this hub is in this cluster');
  const there = await doctor('--workloads-kubeconfig', management.plane.adminKubeconfigPath);
  expect(there).toContain('pods: nothing keeps one from starting');
  expect(there).toContain('keys: no Secret here is of another hub than');
});

test('a command that changes keys, and does not name the cluster of the pods, changes nothing', async () => {
  const forgotten = await hub.rollcall('trust', 'rotate', 'reply-key', '--keys', hub.keys);
  expect(forgotten.stderr).toContain('the pods of this hub run in another cluster');
  expect(forgotten.code).toBe(2);
});

test('the command installs and removes both parts, and goes on where the releases were [RO-3]', async () => {
  const key = (await hub.cluster('management'))?.status?.keyFingerprint;
  for (const place of [management, shown])
    expect((await hub.release(['uninstall', 'hub'], 'hub', place)).code).toBe(0);
  const installed = await hub.install('--advertise', hub.address);
  expect(installed.code, installed.stderr).toBe(0);
  expect(installed.stdout).toBe('the hub runs\n');
  // What of the pods is no service finds its servers, too: the console has no token there.
  const keysOf = async (name: string) =>
    Object.keys(
      (
        await management.admin.get<KubeObject & { data?: object }>(resources.secrets, {
          name,
          namespace: system,
        })
      )?.data ?? {},
    );
  expect(await keysOf('rollcall-kubeconfig-console')).toEqual(['ca.crt', 'server']);
  expect(await keysOf('rollcall-ops')).toEqual(['creds']);
  const back = await hub.readiness('management', 'True');
  expect(back.status?.keyFingerprint).toBe(key);

  await hub.release(['uninstall', 'agent'], 'agent');
  await management.admin.delete(resources.namespaces, 'rollcall-agent');
  // A kubeconfig that somebody made by hand stays.
  const own = { name: 'rollcall-kubeconfig-projector', namespace: system };
  const metadata = { labels: { 'app.kubernetes.io/part-of': null } };
  const before = await management.admin.mergePatch(resources.secrets, own.name, { metadata }, own);
  const again = await hub.install('--no-wait');
  expect(again.stderr).toContain("Secret rollcall-kubeconfig-projector is somebody's own");
  const after = await management.admin.get(resources.secrets, own);
  expect(after?.metadata.resourceVersion).toBe(before.metadata.resourceVersion);

  const half = await hub.rollcall('uninstall', 'hub', '--with-data');
  expect(half).toMatchObject({ code: 2, stderr: expect.stringContaining('run in another cluster') });
  const removed = await hub.rollcall(
    'uninstall',
    'hub',
    '--with-data',
    '--workloads-kubeconfig',
    management.plane.adminKubeconfigPath,
  );
  expect(removed.code, removed.stderr).toBe(0);
  await shown.admin.delete(resources.namespaces, 'management');
  for (const place of [management, shown]) {
    await until('nothing is left', async () => (await ours(place)).length === 0).catch(() => undefined);
    expect(await ours(place)).toEqual([]);
  }
});
