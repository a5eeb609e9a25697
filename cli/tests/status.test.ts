import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type KubeObject, kubeconfigYaml, resources } from '@rollcall/shared/kubernetes';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  conditionOf,
  grant,
  startTestEmbeddedHub,
  type TestAgent,
  type TestEmbeddedHub,
  until,
} from '../../tests/harness/embedded.ts';
import { type CliResult, runCli } from './run-cli.ts';

let hub: TestEmbeddedHub;
let agent: TestAgent;
let environment: Record<string, string>;
const status = (...args: string[]): Promise<CliResult> => runCli(['status', ...args], { environment });

beforeAll(async () => {
  hub = await startTestEmbeddedHub({ ownPlane: true });
  const { stateDir } = hub.up;
  writeFileSync(join(stateDir, 'kubeconfig'), readFileSync(hub.up.plane.adminKubeconfigPath), {
    mode: 0o600,
  });
  environment = { ROLLCALL_HOME: stateDir };
  agent = await hub.startAgent({ name: 'edge-1', token: (await hub.createToken()).text });
  await hub.untilReady('edge-1');
  await until(
    'the approver has seen that the admission policies are in place',
    async () => (await status()).code === 0,
  );
});
afterAll(() => hub[Symbol.asyncDispose]());

test('all is well for who may ask for all of it', async () => {
  await grant(hub, 'vera', ['rollcall-viewer']);
  const kubeconfig = join(hub.up.stateDir, 'vera.kubeconfig');
  writeFileSync(kubeconfig, kubeconfigYaml(hub.up.plane.userAccess('vera')), { mode: 0o600 });
  const bus = [
    '--creds',
    join(hub.up.stateDir, 'inspector.creds'),
    '--server',
    hub.up.natsAddress.servers[0] ?? '',
  ];
  const caFile = join(hub.up.stateDir, 'hub-ca.pem');
  writeFileSync(caFile, hub.up.hub.caPem);
  for (const flags of [[], ['--kubeconfig', kubeconfig, ...bus, '--ca-file', caFile]])
    expect(await status(...flags)).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^Everything is as it should be\.$/m),
    });
});

test('clusters are chosen by the NATS server that they are connected to', async () => {
  const names = async (filter: string) =>
    (await runCli(['get', 'clusters', '--filter', filter, '-o', 'name'], { environment })).stdout;
  expect(await names('server:hub edge')).toMatch(/\/edge-1$/m);
  expect(await names('server:hub-2 edge')).not.toContain('edge-1');
});

test('who may ask for less is told what could not be asked, and never that all is well', async () => {
  const kubeconfig = join(hub.up.stateDir, 'nobody.kubeconfig');
  writeFileSync(kubeconfig, kubeconfigYaml(hub.up.plane.userAccess('nobody')), { mode: 0o600 });
  const [server = ''] = hub.up.natsAddress.servers;
  const caFile = join(hub.up.stateDir, 'hub-ca.pem');
  const bus = ['--server', server, '--ca-file', caFile, '--creds', join(hub.up.stateDir, 'ops.creds')];
  const { code, stdout } = await status('--kubeconfig', kubeconfig, ...bus);
  expect(stdout).toMatch(/^Nobody can say that all is well:$/m);
  expect(stdout).toMatch(/^ {2}- streams that could not be looked at: FACTS, DEAD$/m);
  expect(stdout).toMatch(/^ {2}- held operations could not be looked at: /m);
  expect(stdout).toMatch(/^ {2}- clusters: /m);
  expect(stdout).not.toContain('Everything is as it should be');
  expect(code).toBe(5);
});

test('an etcd that hangs is told, and is not well', async () => {
  const note = readFileSync(join(hub.up.stateDir, 'kubernetes', 'run', 'etcd.json'), 'utf8');
  const { pid } = JSON.parse(note) as { pid: number };
  process.kill(pid, 'SIGSTOP');
  try {
    const { code, stdout } = await status();
    expect(stdout).not.toContain('Everything is as it should be');
    expect(stdout).toMatch(/^ {2}- clusters: /m);
    expect(code).not.toBe(0);
    const found = JSON.parse((await status('-o', 'json')).stdout) as { problems: { severity: string }[] };
    expect(found.problems.map(({ severity }) => severity)).toContain('unknown');
  } finally {
    process.kill(pid, 'SIGCONT');
  }
  await until('all is well again', async () => (await status()).code === 0);
});

test('a cluster whose id is taken and a member that is away are told', async () => {
  const { spec } = (await hub.cluster('edge-1')) ?? {};
  await hub.up.admin.create(resources.managedClusters, {
    apiVersion: 'rollcall.dev/v1alpha1',
    kind: 'ManagedCluster',
    metadata: { name: 'second' },
    spec: { clusterId: spec?.clusterId },
  } as KubeObject);
  await until('its id is known to be taken', async () => {
    const reason = conditionOf(await hub.cluster('second'), 'Accepted')?.reason;
    return reason === 'IdTaken';
  });
  const taken = await status();
  expect(taken.stdout).toMatch(/^ {2}- clusters: 1 that cannot be as written: second \(IdTaken\)\n {4}→ /m);
  expect(taken.code).toBe(1);

  await agent.agent.stop();
  await until('it is told', async () => (await status()).stdout.includes('- clusters are not well: 1 '));
});

test('a kind that was deleted is told', async () => {
  const crds = {
    group: 'apiextensions.k8s.io',
    version: 'v1',
    plural: 'customresourcedefinitions',
    kind: 'CustomResourceDefinition',
    namespaced: false,
  };
  await hub.up.admin.delete(crds, 'approvalpolicies.rollcall.dev');
  const told = await until('the API server serves it no more', async () => {
    const { code, stdout } = await status();
    return stdout.includes('not served') && { code, stdout };
  });
  expect(told).toEqual({
    code: 1,
    stdout: expect.stringMatching(/^ {2}- kinds: not served: approvalpolicies$/m),
  });
});
