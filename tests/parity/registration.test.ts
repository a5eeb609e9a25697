import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { clusterRecord } from '@rollcall/shared/events';
import { kubeconfigYaml, resources } from '@rollcall/shared/kubernetes';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runCli, startCli } from '../../cli/tests/run-cli.ts';
import {
  conditionOf,
  grant,
  startTestEmbeddedHub,
  type TestEmbeddedHub,
  until,
} from '../harness/embedded.ts';

/** What a person sees and types when a cluster registers, on a whole hub, by the rows of the README beside. */
let hub: TestEmbeddedHub;
let directory: string;
const person = 'anna';
beforeAll(async () => {
  hub = await startTestEmbeddedHub();
  directory = mkdtempSync(join(tmpdir(), 'rollcall-parity-'));
  await grant(hub, person, ['rollcall-admin']);
  await hold('^waits-');
});
afterAll(async () => {
  await hub[Symbol.asyncDispose]();
  rmSync(directory, { recursive: true, force: true });
});

const aName = (stem: string) => `${stem}-${randomUUID().slice(0, 8)}`;
const kubectl = async (...args: string[]) => {
  const { code, stdout, stderr } = await hub.kubectl(person, ...args);
  expect([code, stderr]).toEqual([0, expect.any(String)]);
  return stdout;
};

/** Requests under such a name wait for a person, whatever another policy says. */
async function hold(pattern: string): Promise<void> {
  await hub.up.admin.create(resources.approvalPolicies, {
    apiVersion: 'rollcall.dev/v1alpha1',
    kind: 'ApprovalPolicy',
    metadata: { name: 'holds' },
    spec: {
      rules: [{ name: 'waits', when: `request.clusterName.matches("${pattern}")`, effect: 'Hold' }],
    },
  } as never);
  await until('the policy is declared', async () => {
    const { newest } = await hub.log.read({ kind: 'policy', id: 'holds' });
    return newest?.type === 'declared';
  });
}

/** A kubeconfig of the member whose cluster has that name. */
function memberKubeconfig(clusterName: string): string {
  const path = join(directory, `${clusterName}.kubeconfig`);
  writeFileSync(path, kubeconfigYaml({ ...hub.up.plane.access, clusterName }), { mode: 0o600 });
  return path;
}

/** `rollcall register` as the token's command has it, for a cluster that is told apart by its client id. */
function register(clientId: string, more: readonly string[], pin = hub.up.hub.caCertHash) {
  const [address = ''] = hub.up.addresses;
  const member = ['--member-kubeconfig', memberKubeconfig(clientId), '--client-id', clientId];
  const keys = ['--state-dir', join(directory, `keys-${clientId}`)];
  return startCli(['register', address, '--ca-cert-hash', pin, ...member, ...keys, ...more]);
}

async function registered(clientId: string, more: readonly string[]): Promise<void> {
  await using agent = register(clientId, ['--run', ...more]);
  await agent.line(/is Ready/);
  await hub.untilReady(clientId);
  agent.child.kill('SIGTERM');
  await agent.result;
}

test('a request appears by itself, says why it waits and who can let it in, and one patch does [CN-1, OC-2]', async () => {
  const name = aName('waits');
  await hub.startAgent({ name, token: (await hub.createToken()).text });
  await until('it is held', async () => (await hub.request(name))?.status?.result === 'Held');
  const list = await kubectl('get', 'clsrr', name);
  expect(list).toMatch(
    new RegExp(`^NAME +CLUSTER +STATUS +REASON +AGE\n${name} +${name} +Held +PolicyHeld +\\d`),
  );
  const waiting = await hub.request(name);
  expect(waiting?.status?.message).toContain('managedclusters/accept');
  expect(waiting?.status?.message).toContain(`rollcall approve ${name}`);
  await kubectl('patch', 'clsrr', name, '--type=merge', '-p', '{"spec":{"decision":{"verdict":"Approve"}}}');
  await hub.untilReady(name);
  const { body } = await hub.up.admin.raw('/apis/certificates.k8s.io/v1/certificatesigningrequests');
  expect(JSON.parse(body)).toMatchObject({ items: [] });
});

test('the request says what came of it: namespace, cluster, who decided [CN-3]', async () => {
  const name = aName('outcome');
  await hub.startAgent({ name, token: (await hub.createToken()).text });
  await hub.untilReady(name);
  const request = await until('it is approved', async () => {
    const found = await hub.request(name);
    return found?.status?.result === 'Approved' && found;
  });
  expect(request.status).toMatchObject({
    reason: 'PolicyApproved',
    policy: 'default',
    rule: 'valid-token',
    dedicatedNamespace: name,
    managedClusterName: name,
  });
});

test('labels and spec say which cluster it is and how it came, and one limit of names holds everywhere [CN-2]', async () => {
  const name = aName('edge');
  const { text } = await hub.createToken({ allowLabels: ['env'] });
  const type = ['--cluster-type', 'Edge', '--labels', 'env=prod'];
  await registered(name, ['--cluster-name', name, '--token', text, ...type]);
  const asked = await hub.request(name);
  expect(asked?.spec).toMatchObject({
    clusterId: name,
    clusterName: name,
    clusterType: 'Edge',
    mode: 'Pull',
    labels: { env: 'prod' },
  });
  const cluster = await hub.cluster(name);
  expect(cluster?.spec).toMatchObject({ clusterId: name, clusterType: 'Edge', mode: 'Pull' });
  expect(cluster?.metadata.labels).toMatchObject({
    'rollcall.dev/cluster-id': name,
    'rollcall.dev/cluster-name': name,
    'rollcall.dev/registered-by': 'agent',
    env: 'prod',
  });

  const long = 'n'.repeat(64);
  await using cli = register('long', ['--run', '--cluster-name', long, '--token', text]);
  expect((await cli.result).stderr).toContain('CLUSTER_NAME_INVALID');
  const agent = hub.startAgent({ name: long, clientId: 'long', token: text });
  await expect(agent).rejects.toMatchObject({ code: 'CLUSTER_NAME_INVALID' });
  const object = {
    apiVersion: 'rollcall.dev/v1alpha1',
    kind: 'ManagedCluster',
    metadata: { name: long },
    spec: { clientId: 'long' },
  };
  await expect(hub.up.admin.create(resources.managedClusters, object)).rejects.toMatchObject({ status: 422 });
});

test('labels that the token allows become those of the cluster, once; others are dropped and named [FL-3]', async () => {
  const name = aName('labelled');
  const { text } = await hub.createToken({ labels: { tier: 'branch' }, allowLabels: ['env'] });
  const asked = 'env=prod,team=a,rollcall.dev/cluster-set=default';
  await registered(name, ['--cluster-name', name, '--token', text, '--labels', asked]);
  const given = async () => {
    const { metadata } = (await hub.cluster(name)) ?? {};
    return Object.entries(metadata?.labels ?? {}).filter(([key]) => !key.startsWith('rollcall.dev/'));
  };
  expect((await given()).toSorted()).toEqual([
    ['env', 'prod'],
    ['tier', 'branch'],
  ]);
  expect((await hub.cluster(name))?.metadata.labels).not.toHaveProperty('rollcall.dev/cluster-set');
  const { identity } = clusterRecord(await hub.log.read({ kind: 'cluster', id: name }));
  expect(identity?.request.droppedLabels.toSorted()).toEqual(['rollcall.dev/cluster-set', 'team']);
  await registered(name, ['--cluster-name', name, '--labels', 'env=dev']);
  expect(await given()).toContainEqual(['env', 'prod']);
});

test('kubectl and rollcall list clusters in the same columns, and wide has more [CN-5, KA-3]', async () => {
  const name = aName('listed');
  await hub.startAgent({ name, token: (await hub.createToken()).text });
  await hub.untilReady(name);
  const header = /^NAME +ACCEPTED +READY +KUBERNETES +MODE +LAST-SEEN +AGE/;
  const line = new RegExp(`\n${name} +True +True +v1\\.\\d+\\S* +Pull +live +\\d`);
  const wide = / +CLUSTER[ -]ID +TYPE +READYZ +PLATFORM +NODES +SAMPLE-NODE +SET +REASON\n/;
  const ours = ['get', 'clusters', '--kubeconfig', hub.up.plane.adminKubeconfigPath];
  for (const print of [
    (...more: string[]) => kubectl('get', 'mcls', ...more),
    async (...more: string[]) => (await runCli([...ours, ...more])).stdout,
  ]) {
    const narrow = await print();
    expect(narrow).toMatch(header);
    expect(narrow).toMatch(line);
    const all = await print('-o', 'wide');
    expect(all).toMatch(header);
    expect(all).toMatch(wide);
    expect(all).toMatch(new RegExp(`\n${name} .* ${name} +Standard +true .* Alive`));
  }
});

test('one command registers: named after the context, by the pin of the hub, with a line for each step [KA-5]', async () => {
  const name = aName('site');
  const { text } = await hub.createToken();
  await using misled = register(
    name,
    ['--run', '--token', text, '--timeout', '30s'],
    `sha256:${'0'.repeat(64)}`,
  );
  expect((await misled.result).stderr).toContain('HUB_CA_WRONG');
  await using dry = register(name, ['--dry-run', '--token', text]);
  expect((await dry.result).stdout).toContain('nothing that can be seen from here is in the way (dry run)');
  expect(await hub.cluster(name)).toBeUndefined();

  await using agent = register(name, ['--run', '--token', text]);
  await agent.line(/is Ready after/);
  agent.child.kill('SIGTERM');
  const { stdout, stderr } = await agent.result;
  expect(stdout).toMatch(new RegExp(`^cluster "${name}" is Ready after `));
  const phases = [...stderr.matchAll(/^\[(\w+)\]/gm)].map(([, phase]) => phase);
  expect([...new Set(phases)].filter((phase) => phase !== 'member' && phase !== 'waiting')).toEqual([
    'preflight',
    'connect',
    'register',
    'approve',
    'ready',
  ]);
});

test('kubectl waits for every condition, and for the end of the object [OC-4]', async () => {
  const name = aName('awaited');
  await hub.startAgent({ name, token: (await hub.createToken()).text });
  await hub.untilReady(name);
  for (const condition of ['Accepted', 'Joined', 'Ready', 'MemberHealthy', 'CredentialsValid', 'ClockSynced'])
    await kubectl('wait', `--for=condition=${condition}`, '--timeout=60s', `mcls/${name}`);
  await kubectl('wait', '--for=condition=Deleting=False', '--timeout=60s', `mcls/${name}`);
  for (const { reason } of (await hub.cluster(name))?.status?.conditions ?? [])
    expect(reason).toMatch(/^[A-Z]\w+$/);
  await kubectl('delete', '--wait=false', `mcls/${name}`);
  await kubectl('wait', '--for=delete', '--timeout=60s', `mcls/${name}`);
});

test('an agent that says goodbye is not Ready, and its last heartbeat has a time [FL-7]', async () => {
  const name = aName('seen');
  const { agent } = await hub.startAgent({ name, token: (await hub.createToken()).text });
  expect((await hub.untilReady(name)).status?.lastSeen).toBe('live');
  await agent.stop();
  const stopped = await hub.untilReady(name, 'False');
  expect(conditionOf(stopped, 'Ready')?.reason).toBe('AgentStopped');
  expect(stopped.status?.lastSeen).toMatch(/^\d{4}-\d\d-\d\dT.*Z$/);
});
