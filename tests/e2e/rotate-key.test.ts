import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type AgentState,
  directoryHubAccess,
  directoryKeyStore,
  directoryRotationRequest,
  secretKeyStore,
  secretRotationRequest,
} from '@rollcall/agent';
import { clusterRecord } from '@rollcall/shared/events';
import { kubeconfigYaml, type KubeObject, type Resource, resources } from '@rollcall/shared/kubernetes';
import { keyFingerprint, nkeyFromSeed } from '@rollcall/shared/trust';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runCli } from '../../cli/tests/run-cli.ts';
import { rotateAgentKey } from '../../cli/agent/rotate-command.ts';
import { startTestEmbeddedHub, type TestAgent, type TestEmbeddedHub, until } from '../harness/embedded.ts';
import { aJoin, askToJoin } from '../harness/join.ts';
import {
  type AskedHub,
  connectWithCredentials,
  connectWithKey,
  connectWithToken,
} from '../harness/raw-agent.ts';

let hub: TestEmbeddedHub;
let asked: AskedHub;
let files: string;
beforeAll(async () => {
  hub = await startTestEmbeddedHub();
  asked = { address: hub.up.natsAddress, hub: hub.up.hub };
  files = mkdtempSync(join(tmpdir(), 'rollcall-rotate-'));
  writeFileSync(join(files, 'member'), kubeconfigYaml(hub.up.plane.access), { mode: 0o600 });
});
afterAll(async () => {
  await hub[Symbol.asyncDispose]();
  rmSync(files, { recursive: true, force: true });
});

const record = async (name: string) => clusterRecord(await hub.log.read({ kind: 'cluster', id: name }));
const keyOf = ({ seed }: AgentState) => nkeyFromSeed(seed).publicKey;

async function stateIn(directory: string): Promise<AgentState> {
  const state = await directoryKeyStore(directory).load();
  if (!state) throw new Error('the agent has no state');
  return state;
}

async function aMember(name: string): Promise<TestAgent & { readonly before: AgentState }> {
  const started = await hub.startAgent({ name, token: (await hub.createToken()).text });
  await started.agent.admitted();
  await hub.untilReady(name);
  const before = await until('its credentials are kept', async () => {
    const state = await stateIn(started.directory);
    return state.member !== undefined && state;
  });
  return { ...started, before };
}

/** The new key is in and in use, and the former one is out, on the hub and in the store of the agent. */
async function untilRotated(name: string, directory: string, from: string): Promise<AgentState> {
  await until('the former key is out', async () => {
    const { decision, identity, lastOf } = await record(name);
    const isOut = decision?.revokedKeys.some(({ key }) => key === from) ?? false;
    return isOut && identity?.rotatedAtMs !== undefined && lastOf['account-controller']?.type === 'cut';
  });
  const state = await until('the store has one key', async () => {
    const kept = await stateIn(directory);
    return kept.next === undefined && keyOf(kept) !== from && kept;
  });
  const { decision, identity } = await record(name);
  expect(decision).toMatchObject({ verdict: 'approved', reason: 'KeyRotated', approvedKey: keyOf(state) });
  expect(decision?.retiringKey).toBeUndefined();
  expect(identity).toMatchObject({ admittedKey: keyOf(state), rotatedFrom: from });
  return state;
}

async function typesOf(name: string): Promise<string[]> {
  const types: string[] = [];
  for await (const event of hub.log.scan({ filter: `cluster.${name}.*` })) types.push(event.type);
  return types;
}

test('a member gets a new key while it sends heartbeats: it is never suspect, and the old key is refused everywhere', async () => {
  const name = 'rotates';
  const { agent, directory, before } = await aMember(name);
  const from = keyOf(before);
  const ready = await hub.untilReady(name);
  agent.rotate();
  const after = await untilRotated(name, directory, from);
  expect(after.sealingSeed).not.toBe(before.sealingSeed);
  const types = await typesOf(name);
  const since = types.slice(types.lastIndexOf('requested'));
  expect(since.filter((type) => !['provisioned', 'pinned'].includes(type))).toEqual([
    'requested',
    'approved',
    'admitted',
    'rotated',
    'revoked',
    'cut',
  ]);
  const now = await hub.untilReady(name);
  const readySince = (cluster: typeof ready) =>
    cluster.status?.conditions?.find(({ type }) => type === 'Ready')?.lastTransitionTime;
  expect(readySince(now)).toBe(readySince(ready));
  const key = nkeyFromSeed(before.seed);
  const jwt = before.member?.jwt ?? '';
  await expect(connectWithCredentials(asked, key, { jwt, seed: before.seed })).rejects.toThrow(
    /uthorization/,
  );
  await expect(connectWithKey(asked, key, name)).rejects.toThrow(/uthorization/);
});

test('the owner rotates its key while a stranger who asked by its id waits for a person', async () => {
  const name = 'is-asked-for';
  const { agent, directory, before } = await aMember(name);
  const token = await hub.createToken();
  await using stranger = await connectWithToken(asked, token);
  const { identity } = await record(name);
  const body = aJoin(token, { clusterId: identity?.clusterId, clusterName: name });
  expect((await askToJoin(stranger, token, body)).kind).toBe('waiting');
  await until('the stranger is held', async () => {
    const { decision } = await record(name);
    return decision?.verdict === 'held' && decision.reason === 'KeyChanged';
  });
  agent.rotate();
  const after = await untilRotated(name, directory, keyOf(before));
  expect(keyOf(after)).not.toBe(stranger.key.publicKey);
  await hub.untilReady(name);
});

// At once: an agent looks every ten seconds for a request.
test.concurrent('rollcall agent rotate asks the agent that runs, and says when it is done', async () => {
  const name = 'is-asked';
  const { directory, before } = await aMember(name);
  await rotateAgentKey({ stateDir: directory, timeout: '60s', memberKubeconfig: join(files, 'member') });
  await untilRotated(name, directory, keyOf(before));
  expect((await stateIn(directory)).rotatedBy).toBe(await directoryRotationRequest(directory).read());
});

const rotateFromHub = (...args: string[]) =>
  runCli(['rotate', ...args, '--kubeconfig', hub.up.plane.adminKubeconfigPath]);

test.concurrent('rollcall rotate asks the agent from the hub', async () => {
  const name = 'asked-from-the-hub';
  const { directory, before } = await aMember(name);
  const fingerprintOf = (state: AgentState) => keyFingerprint(keyOf(state));
  const there = await rotateFromHub(name, '--reason', 'once a year');
  expect(there.stderr).toContain(`key ${fingerprintOf(before)}`);
  const second = await untilRotated(name, directory, keyOf(before));
  expect(there.stdout).toContain(`${fingerprintOf(before)} → ${fingerprintOf(second)}`);
  expect(there.code).toBe(0);
  const requested = (await hub.log.readAll(`cluster.${name}.rotation-requested`)).at(-1);
  expect(requested).toMatchObject({ by: { person: 'rollcall-admin' }, reason: 'RotationRequested' });
  expect(requested?.message).toContain('once a year');
});

test.concurrent('an agent that was away when rollcall rotate asked takes a new key when it is back', async () => {
  const name = 'asked-while-away';
  const { agent, directory, before } = await aMember(name);
  await agent.stop();
  const away = await rotateFromHub(name, '--timeout', '1s');
  expect(away.stderr).toContain('the agent has no new key');
  expect(away.code).toBe(6);
  const hubAccess = directoryHubAccess(directory);
  await hub.startAgent({ name, directory, hubAccess });
  await untilRotated(name, directory, keyOf(before));
});

test.concurrent('rollcall agent rotate without a directory asks the agent whose keys are in its Secret', async () => {
  const name = 'in-a-secret';
  const namespace = 'rollcall-agent';
  const { admin } = hub.up;
  const make = (resource: Resource, kind: string, metadata: { name: string; namespace?: string }) =>
    admin.create(resource, { apiVersion: 'v1', kind, metadata } as KubeObject);
  await make(resources.namespaces, 'Namespace', { name: namespace });
  await make(resources.secrets, 'Secret', { name: 'rollcall-bootstrap', namespace });
  const { agent } = await hub.startAgent({
    name,
    token: (await hub.createToken()).text,
    store: secretKeyStore(admin, { namespace }),
    rotationRequest: secretRotationRequest(admin, { namespace }),
  });
  await agent.admitted();
  await hub.untilReady(name);
  const stateNow = async () => {
    const state = await secretKeyStore(admin, { namespace }).load();
    return state?.member && state.next === undefined && state;
  };
  const before = await until('its keys are kept', stateNow);
  await rotateAgentKey({ timeout: '60s', memberKubeconfig: hub.up.plane.adminKubeconfigPath });
  const after = await until('one key is left', stateNow);
  expect(keyOf(after)).not.toBe(keyOf(before));
  expect((await record(name)).decision?.approvedKey).toBe(keyOf(after));
  expect(after.rotatedBy).toBe(await secretRotationRequest(admin, { namespace }).read());
});

test.each([
  { when: 'after', count: 1, what: 'the next key was kept' },
  { when: 'before', count: 2, what: 'the new key would be kept as its own' },
  { when: 'after', count: 2, what: 'the new key was kept as its own' },
  { when: 'after', count: 3, what: 'it has renewed with the new key' },
])('killed when $what: it comes back with one good key', async ({ when, count }) => {
  const name = `killed-${when}-${count}`;
  const { agent, directory, before } = await aMember(name);
  await agent.stop();
  const program = join(import.meta.dirname, 'rotating-agent.ts');
  const args = [directory, hub.up.addresses.join(','), hub.up.hub.caCertHash, name, join(files, 'member')];
  const child = spawn(process.execPath, [program, ...args, when, `${count}`], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const [, signal] = (await once(child, 'exit')) as [number | null, string | null];
  expect(signal).toBe('SIGKILL');
  const kept = await stateIn(directory);
  expect(kept.next === undefined).toBe(when === 'after' && count > 1);
  const again = await hub.startAgent({ name, directory });
  await again.agent.admitted();
  await untilRotated(name, directory, keyOf(before));
  await hub.untilReady(name);
});
