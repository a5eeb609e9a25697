import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type AgentOptions,
  directoryHubAccess,
  directoryKeyStore,
  forgetDirectory,
  type PhaseEvent,
  runAgent,
  type RunningAgent,
  secretHubAccess,
} from '@rollcall/agent';
import { clusterRecord } from '@rollcall/shared/events';
import {
  applyManifests,
  createKubeClient,
  type KubeClient,
  type KubeObject,
  loadKubeAccess,
  resources,
} from '@rollcall/shared/kubernetes';
import { rollcallVersion } from '@rollcall/shared/service';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { agentAccountManifests } from '../../cli/up/hub-manifests.ts';
import { runCli } from '../../cli/tests/run-cli.ts';
import { startTestEmbeddedHub, type TestEmbeddedHub, until } from '../harness/embedded.ts';

const { configMaps, secrets, serviceAccounts } = resources;

let hub: TestEmbeddedHub;
let base: string;
const running: RunningAgent[] = [];
beforeAll(async () => {
  hub = await startTestEmbeddedHub({ settings: { approver: { bulkPerMinute: '1000' } } });
  base = mkdtempSync(join(tmpdir(), 'rollcall-access-'));
  // Whoever is called open-… is given access; everybody else gets in without.
  await hub.up.admin.create(resources.approvalPolicies, {
    apiVersion: 'rollcall.dev/v1alpha1',
    kind: 'ApprovalPolicy',
    // The first in the alphabet that approves says what is given.
    metadata: { name: 'access' },
    spec: {
      rules: [
        {
          name: 'open',
          when: 'token.valid && request.clusterName.startsWith("open-")',
          effect: 'Approve',
          access: 'Namespace',
        },
      ],
    },
  } as never);
  await until('the policy is declared', async () => {
    const { newest } = await hub.log.read({ kind: 'policy', id: 'access' });
    return newest?.type === 'declared';
  });
});
afterAll(async () => {
  await Promise.allSettled(running.map((agent) => agent.stop()));
  await hub[Symbol.asyncDispose]();
  rmSync(base, { recursive: true, force: true });
});

interface Member {
  readonly name: string;
  readonly agent: RunningAgent;
  readonly phases: PhaseEvent[];
  readonly path: string;
}

async function joinHub(name: string, more: Partial<AgentOptions> = {}): Promise<Member> {
  const directory = mkdtempSync(join(base, `${name}-`));
  const phases: PhaseEvent[] = [];
  const agent = await runAgent({
    hub: hub.up.addresses,
    trust: { pins: [hub.up.hub.caCertHash] },
    token: (await hub.createToken()).text,
    member: hub.up.plane.access,
    store: directoryKeyStore(directory),
    hubAccess: directoryHubAccess(directory),
    uninstall: forgetDirectory(directory),
    clusterName: name,
    clientId: name,
    version: rollcallVersion,
    onPhase: (phase) => phases.push(phase),
    ...more,
  });
  running.push(agent);
  await hub.untilReady(name);
  return { name, agent, phases, path: join(directory, 'hub.kubeconfig') };
}

const untilThere = ({ path, name }: Member) =>
  until(`${name} has its kubeconfig`, async () => existsSync(path));
const untilRemoved = ({ path, name }: Member) =>
  until(`${name} has no kubeconfig any more`, async () => !existsSync(path));
const clientOf = (path: string): KubeClient =>
  createKubeClient(loadKubeAccess({ path }), { fieldManager: 'test', userAgent: 'test' });
const recordOf = async (name: string) => clusterRecord(await hub.log.read({ kind: 'cluster', id: name }));
const rollcall = (...args: string[]) => runCli([...args, '--kubeconfig', hub.up.plane.adminKubeconfigPath]);

/** An API server takes a token that it has just seen for some seconds more. */
const untilDead = (client: KubeClient) =>
  until('the token is dead', async () => (await client.raw('/api')).status === 401);

test('a member with access reads in its own namespace, and can do nothing else [OC-3]', async () => {
  const member = await joinHub('open-1');
  await joinHub('open-2');
  await untilThere(member);
  const client = clientOf(member.path);
  expect(client.access.namespace).toBe('open-1');
  const settings = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'settings', namespace: 'open-1' },
  };
  await hub.up.admin.create(configMaps, settings);
  // RBAC is heard of a little later.
  await until('it reads what was put there', async () => {
    const { status } = await client.raw('/api/v1/namespaces/open-1/configmaps/settings');
    return status === 200;
  });
  const refused: readonly string[] = [
    '/api/v1/namespaces/open-2/configmaps',
    '/api/v1/namespaces/open-2/secrets',
    '/api/v1/namespaces/kube-system/secrets',
    '/api/v1/namespaces/rollcall-join/secrets',
    '/api/v1/namespaces/rollcall-system/configmaps/rollcall-hub',
    '/api/v1/configmaps',
    '/api/v1/secrets',
    '/api/v1/namespaces',
    '/api/v1/namespaces/open-1/serviceaccounts',
    '/api/v1/nodes',
    '/apis/rollcall.dev/v1alpha1/managedclusters',
    '/apis/rollcall.dev/v1alpha1/clusterregistrationtokens',
  ];
  for (const path of refused) expect([path, (await client.raw(path)).status]).toEqual([path, 403]);
  const namespace = 'open-1';
  const token = { name: 'rollcall-member', namespace, subresource: 'token' };
  const request = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} };
  for (const write of [
    () => client.create(configMaps, { ...settings, metadata: { ...settings.metadata, name: 'own' } }),
    () => client.mergePatch(configMaps, 'settings', { data: { a: 'b' } }, { namespace }),
    () => client.delete(configMaps, 'settings', { namespace }),
    () => client.createSubresource(serviceAccounts, token, request),
  ])
    await expect(write()).rejects.toMatchObject({ status: 403 });
  expect((await client.list<KubeObject>(secrets, { namespace: 'open-1' })).length).toBe(0);

  const { access } = await recordOf('open-1');
  expect(access?.tokens?.key).toBe((await recordOf('open-1')).decision?.approvedKey);
  const creds = join(hub.up.stateDir, 'inspector.creds');
  const described = await rollcall('describe', 'cluster', 'open-1', '--creds', creds);
  expect(described.stdout).toMatch(/access Namespace, given since/);
  client.close();
});

test('the token stands nowhere: not in the stream, a log, an event or a Kubernetes object', async () => {
  const member = await joinHub('open-quiet');
  await untilThere(member);
  const token = loadKubeAccess({ path: member.path }).token as string;
  // What it is made of, too: the signature alone would do for whoever has the rest.
  const parts = [token, token.split('.')[1] ?? '', token.split('.')[2] ?? ''];
  const files = readdirSync(hub.up.stateDir, { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  );
  const found: string[] = [];
  for (const { parentPath, name } of files) {
    // latin1: bytes as they are.
    const path = join(parentPath, name);
    // The server replaces its own files while it runs.
    if (!existsSync(path)) continue;
    const text = readFileSync(path).toString('latin1');
    if (parts.some((part) => text.includes(part))) found.push(path);
  }
  expect(files.length).toBeGreaterThan(20);
  expect(found).toEqual([]);
  expect(JSON.stringify(member.phases)).not.toContain(token);
  const types = (await hub.log.readAll('cluster.open-quiet.*')).map(({ type }) => type);
  expect(types.filter((type) => type === 'access-given')).toEqual(['access-given']);
});

// At once from here on: each has a cluster of its own, and waits for what the API server forgets after ten seconds.
test.concurrent('who has no access is given nothing, and everything once a person gives it; withdrawn, the token is dead', async () => {
  const member = await joinHub('closed-1');
  const said = await recordOf('closed-1');
  expect([said.decision?.access, said.access?.tokens, existsSync(member.path)]).toEqual([
    'None',
    undefined,
    false,
  ]);
  const give = (access: 'None' | 'Namespace') =>
    hub.up.admin.mergePatch(resources.managedClusters, 'closed-1', { spec: { access } });
  await give('Namespace');
  await untilThere(member);
  const client = clientOf(member.path);
  await until(
    'it reads',
    async () => (await client.raw('/api/v1/namespaces/closed-1/configmaps')).status === 200,
  );
  await give('None');
  await untilRemoved(member);
  await untilDead(client);
  await until('that is kept', async () => (await recordOf('closed-1')).access?.tokens === undefined);
  expect((await recordOf('closed-1')).lastOf['rbac-provisioner']).toMatchObject({
    type: 'provisioned',
    reason: 'AccessWithdrawn',
  });
  await give('Namespace');
  await untilThere(member);
  const again = clientOf(member.path);
  await until(
    'it reads again',
    async () => (await again.raw('/api/v1/namespaces/closed-1/configmaps')).status === 200,
  );
  client.close();
  again.close();
});

test.concurrent('it is renewed ahead, and the one before goes on until its own end', async () => {
  // The same code path with another hour: nobody waits for a real one.
  const member = await joinHub('open-renewed', { longestAccessMs: 1000 });
  await untilThere(member);
  const first = clientOf(member.path);
  const token = first.access.token;
  await until('another token', async () => loadKubeAccess({ path: member.path }).token !== token);
  await until('renewed is told', async () =>
    member.phases.some(({ phase, message }) => phase === 'access' && message.includes('renewed')),
  );
  expect((await first.raw('/api')).status).toBe(200);
  first.close();
});

test.concurrent('in a pod it is a Secret, written and removed with the rights of the agent and no others', async () => {
  await applyManifests(hub.up.admin, agentAccountManifests());
  const groups = ['system:serviceaccounts', 'system:serviceaccounts:rollcall-agent'];
  const account = 'system:serviceaccount:rollcall-agent:rollcall-agent';
  const client = createKubeClient(hub.up.plane.userAccess(account, groups), {
    fieldManager: 'rollcall-agent',
    userAgent: 'test',
  });
  const hubAccess = secretHubAccess(client, { namespace: 'rollcall-agent' });
  await joinHub('open-pod', { hubAccess, longestAccessMs: 2000 });
  const target = { name: 'rollcall-hub-kubeconfig', namespace: 'rollcall-agent' };
  const read = () => hub.up.admin.get<KubeObject & { data?: Record<string, string> }>(secrets, target);
  const first = await until('the Secret is there', read);
  const text = (key: string) => Buffer.from(first.data?.[key] ?? '', 'base64').toString('utf8');
  expect(text('namespace')).toBe('open-pod');
  expect(text('kubeconfig')).toContain('"current-context": "rollcall-hub"');
  await until(
    'it is renewed',
    async () => (await read())?.data?.['kubeconfig'] !== first.data?.['kubeconfig'],
  );
  await rollcall('revoke', 'open-pod');
  await until('it is removed', async () => (await read()) === undefined);
  client.close();
});

test.concurrent.for([
  { how: 'revoke', act: (name: string) => rollcall('revoke', name) },
  { how: 'ban', act: (name: string) => rollcall('ban', name) },
  {
    how: 'hubAcceptsClient: false',
    act: (name: string) =>
      hub.up.admin.mergePatch(resources.managedClusters, name, { spec: { hubAcceptsClient: false } }),
  },
  { how: 'delete', act: (name: string) => hub.up.admin.delete(resources.managedClusters, name) },
])('$how ends the token and removes the kubeconfig', async ({ how, act }, { expect: expectHere }) => {
  const member = await joinHub(`open-${how.slice(0, 3).toLowerCase()}`);
  await untilThere(member);
  const client = clientOf(member.path);
  await act(member.name);
  await untilDead(client);
  await untilRemoved(member);
  client.close();
  // It is written once it is done.
  const tokens = async () => (await recordOf(member.name)).access?.tokens;
  await expectHere.poll(tokens, { timeout: 60_000 }).toBeUndefined();
});
