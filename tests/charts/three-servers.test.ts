import { streamManager } from '@rollcall/shared/bus';
import { type KubeObject, resources } from '@rollcall/shared/kubernetes';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Deployment, statefulSets } from '../../cli/install/workloads.ts';
import { startCli } from '../../cli/tests/run-cli.ts';
import { openHubFiles } from '../../cli/trust/hub-files.ts';
import { connectAsInspector } from '../../cli/up/state/people-connection.ts';
import { until } from '../harness/embedded.ts';
import { areAllCurrent } from '../harness/nats-nodes.ts';
import { type ChartHub, startChartHub } from './chart-hub.ts';

const namespace = 'rollcall-system';

let hub: ChartHub;
beforeAll(async () => {
  hub = await startChartHub({ servers: 3 });
});
afterAll(() => hub[Symbol.asyncDispose]());

test('three servers, installed by one command, keep every stream each', async () => {
  const installed = await hub.install('--servers', '3', '--advertise', hub.address);
  expect(installed.code, installed.stderr).toBe(0);
  const { caPem } = openHubFiles(hub.keys).read('hub');
  const nc = await connectAsInspector(hub.keys, { servers: hub.address.split(','), caPem });
  try {
    await until('every server has every event', () => areAllCurrent(nc));
    const { config } = await (await streamManager(nc)).streams.info('EVENTS');
    expect(config.num_replicas).toBe(3);
  } finally {
    await nc.close();
  }
  await hub.installAgent('own');
});

test('how many there are is said once', async () => {
  const refused = await hub.install('--servers', '1');
  expect(refused.code).toBe(2);
  expect(refused.stderr).toContain('has 3 NATS servers, not 1');
});

test('another address, over WebSocket, comes to one server after the other; agents are told, and may use it', async () => {
  const addresses = `${hub.address},${hub.websocketAddress}`;
  const before = await hub.plane.admin.get<Deployment>(statefulSets, { name: 'rollcall-nats', namespace });
  const changed = await hub.install('--advertise', addresses);
  expect(changed.code, changed.stderr).toBe(0);
  expect(changed.stderr).toContain(`agents are told where the hub is: ${addresses.replaceAll(',', ', ')}`);
  const after = await hub.plane.admin.get<Deployment>(statefulSets, { name: 'rollcall-nats', namespace });
  expect(after?.metadata.generation).toBe((before?.metadata.generation ?? 0) + 1);
  type Secret = KubeObject & { data: { 'identity.json': string } };
  const where = { name: 'rollcall-identity-registrar', namespace };
  const identity = await hub.plane.admin.get<Secret>(resources.secrets, where);
  const told = Buffer.from(identity?.data['identity.json'] ?? '', 'base64').toString('utf8');
  expect(JSON.parse(told)).toMatchObject({ hubAddresses: addresses.split(',') });

  const { caCertHash } = openHubFiles(hub.keys).read('hub');
  const environment = { ROLLCALL_TOKEN: await hub.createToken() };
  const member = ['--member-kubeconfig', hub.plane.plane.adminKubeconfigPath, '--client-id', 'shop'];
  const flags = ['--ca-cert-hash', caCertHash, '--cluster-name', 'shop', '--run', ...member];
  await using agent = startCli(['register', hub.websocketAddress, ...flags], { environment });
  await hub.readiness('shop', 'True');
  agent.child.kill('SIGTERM');
  await agent.result;
  await hub.readiness('own', 'True');
});

test('the CA rolls over on three servers, which know each other by it: one may have the next while others have the former', async () => {
  const { caPem: former } = openHubFiles(hub.keys).read('hub');
  const rotate = (...flags: string[]) => hub.rollcall('trust', 'rotate', 'ca', '--keys', hub.keys, ...flags);
  const announced = await rotate();
  expect(announced.code, announced.stderr).toBe(0);
  const { caPem: both } = openHubFiles(hub.keys).read('hub');
  const switched = await rotate('--now');
  expect(switched.code, switched.stderr).toBe(0);
  const { caPem: next } = openHubFiles(hub.keys).read('hub');
  expect(both).toBe(former + next);
  const nc = await connectAsInspector(hub.keys, { servers: hub.address.split(','), caPem: next });
  try {
    await until('every server has every event', () => areAllCurrent(nc));
  } finally {
    await nc.close();
  }
  await hub.readiness('own', 'True');
});
