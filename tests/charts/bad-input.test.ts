import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { applyManifests, type KubeObject, resources } from '@rollcall/shared/kubernetes';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { hubKeys } from '../../cli/install/hub/hub-keys.ts';
import { hubValuesSchema } from '../../cli/install/hub/hub-values.ts';
import { pods, statefulSets, storageClasses } from '../../cli/install/workloads.ts';
import { runCli } from '../../cli/tests/run-cli.ts';
import { openHubFiles } from '../../cli/trust/hub-files.ts';
import { until } from '../harness/embedded.ts';
import { type ChartHub, startChartHub } from './chart-hub.ts';

const namespace = 'rollcall-system';

let hub: ChartHub;
beforeAll(async () => {
  hub = await startChartHub();
});
afterAll(() => hub[Symbol.asyncDispose]());

const place = () => hub.plane.admin.get<KubeObject>(resources.namespaces, { name: namespace });
function fileOf(values: object): string {
  const file = join(hub.folder, 'bad-values.yaml');
  writeFileSync(file, stringify(values));
  return file;
}
const install = (values: object, ...flags: string[]) =>
  hub.install('--advertise', hub.address, '--values', fileOf(values), ...flags);
const statusSays = (text: string) =>
  until(`status says ${text}`, async () => {
    const { stdout } = await hub.rollcall('status');
    return stdout.includes(text) && stdout;
  });

type Secret = KubeObject & { data: Record<string, string> };
const identity = { name: 'rollcall-identity-projector', namespace };

test('the command refuses what contradicts itself, and volumes that nobody provides, before anything is applied', async () => {
  const advertised = await install({ nats: { serviceType: 'NodePort', websocketNodePort: 30_443 } });
  expect(advertised.stderr).toContain('nats.websocketNodePort: no address begins with wss://');
  const ingress = await install({ nats: { ingress: { host: 'hub.example.org' } } });
  expect(ingress.stderr).toContain('nats.ingress.host: no address begins with wss://');
  const keysAlone = await install({ nats: { nodePort: 30_422 } }, '--only-keys');
  expect(keysAlone.stderr).toContain('nats.nodePort: a Service of type ClusterIP has none');
  const volumes = await install({ nats: { storageClassName: 'fast' } });
  expect(volumes.stderr).toContain('nats.storageClassName is "fast", and no StorageClass has that name');
  const bothValues = ['--agent-values', fileOf({ existingSecret: true }), '--hub-values', hub.valuesFile];
  const all = await hub.rollcall('install', 'all-in-one', '--advertise', hub.address, ...bothValues);
  expect(all.stderr).toContain('hub: existingSecret is true');
  for (const { code } of [advertised, ingress, keysAlone, volumes, all]) expect(code).toBe(1);
  expect(await place()).toBeUndefined();
});

const ofAgent = 'rollcall-agent';
const installAgent = () =>
  runCli([
    'install',
    'agent',
    '--member-kubeconfig',
    hub.plane.plane.adminKubeconfigPath,
    '--values',
    fileOf({ existingSecret: true }),
  ]);

test('a Secret that the agent waits for is asked for; hub and agent together are refused where Helm has the agent', async () => {
  const { admin } = hub.plane;
  const ours = await installAgent();
  expect(ours.stderr).toContain('there is no Secret rollcall-bootstrap in namespace rollcall-agent');
  expect(ours.code).toBe(1);
  const labels = { 'pod-security.kubernetes.io/enforce': 'privileged' };
  const metadata = { name: ofAgent, labels };
  await admin.create(resources.namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata });
  const theirs = await hub.chart(['install', 'agent'], 'agent', { existingSecret: true });
  expect(theirs.code, theirs.stderr).toBe(0);
  expect(theirs.stdout).toContain('There is no Secret rollcall-bootstrap');
  expect(theirs.stdout).toContain('has Pod Security level privileged; the agent fits the strictest one');
  const both = await hub.rollcall('install', 'all-in-one', '--advertise', hub.address);
  expect([both.code, both.stderr]).toEqual([
    3,
    expect.stringContaining('belongs to release "agent" of Helm'),
  ]);
  expect(await place()).toBeUndefined();
  expect((await hub.release(['uninstall', 'agent'], 'agent')).code).toBe(0);
});

let given: { hub: object };

test('the chart refuses Secrets and values of two hubs, and volumes that nobody provides', async () => {
  ({ values: given } = await hub.makeKeys());
  const { admin } = hub.plane;
  const before = await admin.get<Secret>(resources.secrets, identity);
  const other = { hubId: 'other', epoch: 1, bus: {} };
  const stringData = { 'identity.json': JSON.stringify(other) };
  await admin.mergePatch(resources.secrets, identity.name, { stringData }, identity);
  const installChart = (values: object) => hub.chart(['install', 'hub'], 'hub', values);
  const foreign = await installChart(given);
  expect(foreign.stderr).toMatch(/Secret rollcall-identity-projector is of hub other, and hub.id is \S+; `/);

  await hub.makeKeys();
  const after = await admin.get<Secret>(resources.secrets, identity);
  expect(after?.data).toEqual(before?.data);
  const nats = { ...('nats' in given ? (given.nats as object) : {}), storageClassName: 'fast' };
  const volumes = await installChart({ ...given, nats });
  expect(volumes.stderr).toContain('nats.storageClassName is "fast", and no StorageClass has that name');
  for (const { code } of [foreign, volumes]) expect(code).toBe(1);
  expect(await admin.list(resources.deployments, { namespace })).toEqual([]);
});

test('the chart shows which Secrets are missing and which level the namespace has, and status what waits for them', async () => {
  const { admin } = hub.plane;
  await admin.delete(resources.secrets, identity.name, identity);
  const labels = { 'pod-security.kubernetes.io/enforce': 'baseline' };
  await admin.mergePatch(resources.namespaces, namespace, { metadata: { labels } });
  const installed = await hub.chart(['install', 'hub'], 'hub', given);
  expect(installed.code, installed.stderr).toBe(0);
  expect(installed.stdout).toContain('Secrets that are not there: rollcall-identity-projector. With');
  expect(installed.stdout).toContain('has Pod Security level baseline; the hub fits the strictest one');

  const said = await statusSays('secret "rollcall-identity-projector" not found');
  expect(said).toMatch(/FailedMount: .*\n +→ Install again with the keys of the hub/);
  const { made } = await hub.makeKeys();
  expect(made.stderr).toContain('namespace rollcall-system has Pod Security level "baseline"');
  await hub.untilAllRun();
  const upgraded = await hub.chart(['upgrade', 'hub'], 'hub', given);
  expect(upgraded.stdout).not.toMatch(/Pod Security|not there/);
});

test('an image that cannot be pulled is told by status, and the next upgrade goes on', async () => {
  const image = 'registry.invalid/rollcall:1';
  const upgrade = (values: object) => hub.chart(['upgrade', 'hub'], 'hub', values);
  expect((await upgrade({ ...given, image })).code).toBe(0);
  const said = await statusSays(`ImagePullBackOff: Back-off pulling image "${image}"`);
  expect(said).toMatch(/ImagePullBackOff: .*\n +→ Put the image where the nodes can pull it/);
  expect((await upgrade(given)).code).toBe(0);
  await hub.untilAllRun();
});

test('a class that volumes do not have is refused, by chart and command', async () => {
  const { admin } = hub.plane;
  const fast = { apiVersion: 'storage.k8s.io/v1', kind: 'StorageClass', metadata: { name: 'fast' } };
  await admin.create(storageClasses, { ...fast, provisioner: 'example.org/none' } as KubeObject);
  const words =
    'nats.storageClassName is "fast", and the servers have volumes of class "", which never changes';
  const nats = { ...('nats' in given ? (given.nats as object) : {}), storageClassName: 'fast' };
  const upgraded = await hub.chart(['upgrade', 'hub'], 'hub', { ...given, nats });
  expect([upgraded.code, upgraded.stderr]).toEqual([1, expect.stringContaining(words)]);
  expect((await hub.release(['uninstall', 'hub'], 'hub')).code).toBe(0);

  const servers = {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: { name: 'rollcall-nats', namespace },
  };
  const labels = { a: 'b' };
  const template = { metadata: { labels }, spec: { containers: [{ name: 'a', image: 'a' }] } };
  const spec = { replicas: 0, selector: { matchLabels: labels }, template };
  const volumeClaimTemplates = [
    {
      metadata: { name: 'data' },
      spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
    },
  ];
  await admin.create(statefulSets, { ...servers, spec: { ...spec, volumeClaimTemplates } }, { namespace });
  const ours = await install({ nats: { storageClassName: 'fast' } });
  expect([ours.code, ours.stderr]).toEqual([1, expect.stringContaining(words)]);
  await admin.delete(statefulSets, 'rollcall-nats', { namespace });
});

test('the command tells why a pod does not start while it waits, goes on once it is mended, and the chart keeps off', async () => {
  const image = 'registry.invalid/rollcall:1';
  const stuck = await install({ image }, '--timeout', '10s');
  expect(stuck.code).toBe(6);
  expect(stuck.stderr).toMatch(
    /\[ready\] pod rollcall-\S+: container service: ImagePullBackOff: .*registry.invalid/,
  );
  const again = await install({});
  expect(again.code, again.stderr).toBe(0);
  const over = await hub.chart(['install', 'hub'], 'hub', given);
  expect([over.code, over.stderr]).toEqual([
    1,
    expect.stringContaining('`rollcall uninstall hub` removes it'),
  ]);
});

test('keys of another hub are named by status, which nobody would let in and nobody else says why', async () => {
  const listening = { host: '127.0.0.1', port: 4222, routePort: 6222, websocketPort: 8443 };
  const nats = { ...hubValuesSchema.parse({}).nats, ...listening };
  const { secrets } = hubKeys(join(hub.folder, 'other'), { hosts: [], nats, withWebSocket: false });
  const data = secrets.find(({ metadata }) => metadata.name === identity.name)?.data;
  const { admin } = hub.plane;
  const identityFile = { 'identity.json': data?.['identity.json'] };
  await admin.mergePatch(resources.secrets, identity.name, { data: identityFile }, identity);
  await admin.delete(pods, 'rollcall-projector-0', { namespace });
  const refused = await statusSays('Authorization Violation; this service has keys of hub ');
  expect(refused).toMatch(/ended with .* keys of hub \S+\n +→ Install again with the keys of the hub/);
  expect(refused).toMatch(
    /keys: this is hub \S+, and Secret .*\n +→ Install again with the keys of this hub/,
  );
  await admin.mergePatch(resources.secrets, identity.name, { data }, identity);
  await statusSays("the CA that is given is not the server's");
  const again = await install({});
  expect(again.code, again.stderr).toBe(0);
  await until('all is well', async () => (await hub.rollcall('status')).code === 0);
});

test('a Secret of another hub in a member is told by the command, and a second run goes on with the right one', async () => {
  const { admin } = hub.plane;
  const { caCertHash } = openHubFiles(hub.keys).read('hub');
  const secret = (token: string) => ({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'rollcall-bootstrap', namespace: ofAgent },
    stringData: { hub: hub.address, caCertHash, token },
  });
  await applyManifests(admin, [secret(`rc1.${'0'.repeat(16)}.${'0'.repeat(26)}`)]);
  const foreign = await installAgent();
  expect(foreign.stderr).toMatch(
    /\[preflight\] namespace rollcall-agent has Pod Security level "privileged"/,
  );
  expect(foreign.stderr).toMatch(/\[agent\] Registered is False \(TokenUnknown\): .*is of another hub/);
  await applyManifests(admin, [secret(await hub.createToken())]);
  expect((await installAgent()).code).toBe(0);
  const requests = () => admin.list(resources.clusterRegistrationRequests);
  await until('it asks with the right one', async () => (await requests()).length > 0);
});

test('the chart takes over what stays of a hub that the command has removed', async () => {
  expect((await hub.rollcall('uninstall', 'hub')).code).toBe(0);
  const taken = await hub.chart(['install', 'hub', '--take-ownership'], 'hub', given);
  expect(taken.code, taken.stderr).toBe(0);
});
