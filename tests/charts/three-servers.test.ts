import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { jetstreamManager } from '@nats-io/jetstream';
import { applyManifests, type KubeObject, resources } from '@rollcall/shared/kubernetes';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Deployment, statefulSets } from '../../cli/install/workloads.ts';
import { runCli, startCli } from '../../cli/tests/run-cli.ts';
import { openHubFiles } from '../../cli/trust/hub-files.ts';
import { manifestsIn } from '../../cli/up/hub-manifests.ts';
import { connectAsOps } from '../../cli/up/ops-connection.ts';
import { startTestControlPlane, type TestControlPlane } from '../harness/control-plane.ts';
import { until } from '../harness/embedded.ts';
import { areAllCurrent } from '../harness/nats-nodes.ts';
import { type ChartRunner, startChartRunner } from './chart-runner.ts';
import { helmWithChart } from './helm.ts';
import { type OneMachine, oneMachine } from './one-machine.ts';
import { type SeenHub, seenHub } from './seen-hub.ts';

const folder = mkdtempSync(join(tmpdir(), 'rollcall-three-servers-'));
const keys = join(folder, 'keys');
const namespace = 'rollcall-system';

let plane: TestControlPlane;
let runners: { hub: ChartRunner; agent: ChartRunner };
let hub: SeenHub;
let machine: OneMachine;
beforeAll(async () => {
  plane = await startTestControlPlane({ withControllerManager: true, withManifests: false });
  runners = {
    hub: startChartRunner(plane.admin, namespace),
    agent: startChartRunner(plane.admin, 'rollcall-agent'),
  };
  hub = seenHub({ hub: plane.admin, workloads: plane.admin }, runners);
  machine = await oneMachine(folder, 3);
});
afterAll(async () => {
  await runners.agent[Symbol.asyncDispose]();
  await runners.hub[Symbol.asyncDispose]();
  await plane[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

const rollcall = (...args: string[]) => runCli([...args, '--kubeconfig', plane.plane.adminKubeconfigPath]);
const install = (...flags: string[]) =>
  rollcall('install', 'hub', '--keys', keys, '--values', machine.valuesFile, '--timeout', '4m', ...flags);

async function createToken(): Promise<string> {
  const made = await rollcall('token', 'create', '-o', 'json', '--wait', '--timeout', '2m');
  expect(made.code, made.stderr).toBe(0);
  return (JSON.parse(made.stdout) as { token: string }).token;
}

test('three servers, installed by one command, keep every stream each', async () => {
  const installed = await install('--servers', '3', '--advertise', machine.address);
  expect(installed.code, `${installed.stderr}\n${runners.hub.log('rollcall-nats')}`).toBe(0);
  await applyManifests(plane.admin, manifestsIn('embedded'));
  const { caPem, caCertHash } = openHubFiles(keys).read('hub');
  const nc = await connectAsOps(keys, { servers: machine.address.split(','), caPem });
  try {
    await until('every server has every event', () => areAllCurrent(nc));
    const { config } = await (await jetstreamManager(nc, { checkAPI: false })).streams.info('EVENTS');
    expect(config.num_replicas).toBe(3);
  } finally {
    await nc.close();
  }
  const values = { hub: machine.address, caCertHash, token: await createToken(), clusterName: 'own' };
  const agent = await helmWithChart(['install', 'agent', '--create-namespace'], 'agent', {
    values,
    namespace: 'rollcall-agent',
    kubeconfig: plane.plane.adminKubeconfigPath,
  });
  expect(agent.code, agent.stderr).toBe(0);
  await hub.readiness('own', 'True');
});

test('how many there are is said once', async () => {
  const refused = await install('--servers', '1');
  expect(refused.code).toBe(2);
  expect(refused.stderr).toContain('has 3 NATS servers, not 1');
});

test('another address, over WebSocket, comes to one server after the other; agents are told, and may use it', async () => {
  const addresses = `${machine.address},${machine.websocketAddress}`;
  const before = await plane.admin.get<Deployment>(statefulSets, { name: 'rollcall-nats', namespace });
  const changed = await install('--advertise', addresses);
  expect(changed.code, `${changed.stderr}\n${runners.hub.log('rollcall-nats')}`).toBe(0);
  expect(changed.stderr).toContain(`agents are told where the hub is: ${addresses.replaceAll(',', ', ')}`);
  const after = await plane.admin.get<Deployment>(statefulSets, { name: 'rollcall-nats', namespace });
  expect(after?.metadata.generation).toBe((before?.metadata.generation ?? 0) + 1);
  type Secret = KubeObject & { data: { 'identity.json': string } };
  const where = { name: 'rollcall-identity-registrar', namespace };
  const identity = await plane.admin.get<Secret>(resources.secrets, where);
  const told = Buffer.from(identity?.data['identity.json'] ?? '', 'base64').toString('utf8');
  expect(JSON.parse(told)).toMatchObject({ hubAddresses: addresses.split(',') });

  const { caCertHash } = openHubFiles(keys).read('hub');
  const environment = { ROLLCALL_TOKEN: await createToken() };
  const member = ['--member-kubeconfig', plane.plane.adminKubeconfigPath, '--client-id', 'shop'];
  const flags = ['--ca-cert-hash', caCertHash, '--cluster-name', 'shop', '--run', ...member];
  await using agent = startCli(['register', machine.websocketAddress, ...flags], { environment });
  await hub.readiness('shop', 'True');
  agent.child.kill('SIGTERM');
  await agent.result;
  await hub.readiness('own', 'True');
});
