import { readFileSync, writeFileSync } from 'node:fs';
import { hostname, userInfo } from 'node:os';
import { join } from 'node:path';
import * as registrar from '@rollcall/registrar';
import { directoryKeyStore } from '@rollcall/agent';
import { connect } from '@nats-io/transport-node';
import { type BusCredentials, connectBus, connectionOptions, jwtProof } from '@rollcall/shared/bus';
import { loadConfig } from '@rollcall/shared/config';
import { scopedUserClaims } from '@rollcall/shared/rights';
import { createNkey, decodeJwt, encodeJwt, keyFingerprint, nkeyFromSeed } from '@rollcall/shared/trust';
import { type KubeObject, resources } from '@rollcall/shared/kubernetes';
import type { RunningService } from '@rollcall/shared/service';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { type HubFiles, openHubFiles } from '../../cli/trust/hub-files.ts';
import { checkAgentsHeard, rotate } from '../../cli/trust/rotate.ts';
import { trustStatus } from '../../cli/trust/trust-status.ts';
import { serviceSettings } from '../../cli/up/hub-services.ts';
import { parseCreds } from '../../cli/up/state/people-connection.ts';
import { startTestEmbeddedHub, type TestAgent, type TestEmbeddedHub, until } from '../harness/embedded.ts';

let hub: TestEmbeddedHub;
let ownRegistrar: RunningService | undefined;
let stateDir: string;
let files: HubFiles;
/** Connected from before the first rotation to after the last. */
let old: TestAgent;

/** A restart of the server takes minutes on a busy machine. */
vi.setConfig({ testTimeout: 600_000 });

beforeAll(async () => {
  hub = await startTestEmbeddedHub();
  stateDir = hub.up.stateDir;
  files = openHubFiles(stateDir);
  // Credentials that live for seconds: agents renew while the test looks.
  await hub.up.services.find(({ name }) => name === 'registrar')?.stop();
  await startRegistrar('6s');
  old = await hub.startAgent({ name: 'old', token: (await hub.createToken()).text });
  await old.agent.admitted();
  await hub.untilReady('old');
});
afterAll(async () => {
  await ownRegistrar?.stop();
  await hub?.[Symbol.asyncDispose]();
});

async function startRegistrar(memberLife: string): Promise<void> {
  await ownRegistrar?.stop();
  const values = { ...serviceSettings(hub.up.serviceOptions).registrar, memberLife };
  ownRegistrar = await registrar.start(
    loadConfig(registrar.configSchema, { flags: {}, environment: {}, values }),
  );
}

/** A cluster that comes now, knowing the hub by what is handed out now. */
async function joins(name: string, token?: string): Promise<TestAgent> {
  const text = token ?? (await hub.createToken()).text;
  const agent = await hub.startAgent({ name, token: text, pins: [files.read('hub').caCertHash] });
  await agent.agent.admitted();
  return agent;
}

async function stateOf(agent: TestAgent) {
  const state = await directoryKeyStore(agent.directory).load();
  if (!state) throw new Error('the agent has no state');
  return state;
}

async function wasEverInDoubt(id: string): Promise<string[]> {
  const events = await Array.fromAsync(hub.log.scan({ filter: `cluster.${id}.*` }));
  return events.map(({ type }) => type).filter((type) => type === 'suspect' || type === 'unreachable');
}

test('signing keys roll over, and nobody is cut off', async () => {
  const before = files.read('hub').keys.agentSigners.member;
  await rotate('signing-keys', {}, stateDir);
  const after = files.read('hub').keys.agentSigners.member;
  expect(after).not.toBe(before);
  await joins('in-between');
  await until('all agents have credentials of the next generation', async () => {
    const { signingKeys } = await trustStatus(files);
    const members = signingKeys.filter(({ role }) => role === 'member');
    return members.find(({ state }) => state === 'signs')?.agents === 2 && members[1]?.agents === 0;
  });

  await expect(rotate('signing-keys', {}, stateDir)).rejects.toMatchObject({ code: 'ROTATION_NOT_DUE' });
  await rotate('signing-keys', { dryRun: true, now: true }, stateDir);
  expect(files.read('hub').keys.moreAgentSigners).toHaveLength(1);
  await rotate('signing-keys', { now: true }, stateDir);
  expect(files.read('hub').keys.moreAgentSigners).toBeUndefined();
  await joins('after-drop');
  const told = await Array.fromAsync(hub.log.scan({ filter: 'hub.trust.*' }));
  expect(told.map(({ reason }) => reason)).toEqual(['KeysAnnounced', 'KeysAnnounced', 'KeysDropped']);
  // What a hub begins with nobody rotated.
  expect(told.map(({ by }) => by?.person)).toEqual([undefined, 'rollcall-admin', 'rollcall-admin']);
  expect(told.at(-1)?.message).toContain(`rotated on ${userInfo().username}@${hostname()}`);
  expect(await wasEverInDoubt('old')).toEqual([]);
});

test('the reply key is replaced at once, and a token of before still finds its hub', async () => {
  const token = await hub.createToken();
  const { replyKey: before } = files.read('hub');
  await rotate('reply-key', {}, stateDir);
  await rotate('reply-key', {}, stateDir);
  const { replyKey: after, hubId } = files.read('hub');
  await until(
    'the connected agent believes the new key',
    async () => (await stateOf(old)).replyKey === after,
  );
  expect(after).not.toBe(before);
  await until('it is in the history', async () => {
    const [last] = (await Array.fromAsync(hub.log.scan({ filter: 'hub.trust.*' }))).slice(-1);
    return last?.reason === 'ReplyKeyChanged' && last.by?.person === 'rollcall-admin';
  });
  const late = await joins('with-old-token', token.text);
  // It is in before its store has all of it.
  await until('it has kept whom it believes', async () => {
    const kept = await directoryKeyStore(late.directory).load();
    return kept?.hubId === hubId && kept.replyKey === after;
  });
  expect(await wasEverInDoubt('old')).toEqual([]);
});

async function restartNats(): Promise<void> {
  const seen = old.phases.length;
  await hub.up.restartNats();
  const services = [ownRegistrar, ...hub.up.services.filter(({ name }) => name !== 'registrar')];
  await until('the services are back', () =>
    Promise.resolve(services.every((service) => service?.notReady() === undefined)),
  );
  // A doubt about who comes later than the services is of this restart, and of nothing that follows.
  const isBack = async () =>
    old.phases.slice(seen).some(({ phase, message }) => phase === 'connect' && message.includes('member'));
  // Agents come back spread over a minute, and those whose credentials have ended in twice that.
  await until('the first agent is back', isBack, { withinMs: 240_000 });
}

test('in an emergency all credentials of before are void at once, and agents go on with new ones', async () => {
  const { agentSigners: before, agents: account } = files.read('hub').keys;
  const thief = createNkey('user');
  const nowMs = Date.now();
  const nats = scopedUserClaims(account);
  const claims = { subject: thief.publicKey, name: 'stolen', nowMs, expiresAtMs: nowMs + 3_600_000, nats };
  const jwt = encodeJwt(claims, nkeyFromSeed(files.read('registrar').agentSigners.member));
  const stolen = await connect({
    ...connectionOptions(hub.up.natsAddress, 'stolen'),
    authenticator: jwtProof({ jwt, seed: thief.seed }),
    reconnect: false,
  });
  await rotate('signing-keys', { now: true }, stateDir);
  await stolen.closed();
  const { agentSigners: after, moreAgentSigners } = files.read('hub').keys;
  expect(moreAgentSigners).toBeUndefined();
  expect(Object.values(after).filter((key) => Object.values(before).includes(key))).toEqual([]);
  await until('everybody has credentials of the next generation', async () => {
    const { signingKeys } = await trustStatus(files);
    return signingKeys.some(({ role, agents }) => role === 'member' && agents === 4);
  });
  await joins('after-emergency');
});

test('the users of all services are replaced while they run, and those of before are void in the end', async () => {
  const namesOf = async () =>
    new Map((await trustStatus(files)).services.map(({ name, fingerprint }) => [name, fingerprint]));
  const before = await namesOf();
  const stolen = parseCreds(readFileSync(join(stateDir, 'ops.creds'), 'utf8'));
  // As one leaves it that was stopped before the account knew of the next key, and then before the last user was written.
  const nextHubSigner = createNkey('account').seed;
  files.change('offline', (offline) => ({ ...offline, nextHubSigner }));
  const setupFile = join(stateDir, 'identities', 'setup.json');
  const formerSetup = readFileSync(setupFile);
  await rotate('service-keys', {}, stateDir);
  expect(files.read('offline')).toMatchObject({ signers: { hub: nextHubSigner } });
  expect(files.read('offline')).not.toHaveProperty('nextHubSigner');
  writeFileSync(setupFile, formerSetup);
  const after = await namesOf();
  for (const [name, fingerprint] of before) expect(after.get(name), name).not.toBe(fingerprint);
  await until('every service is connected with its new user', async () => {
    const { services } = await trustStatus(files);
    return services.every(({ connectedWith }) => connectedWith === undefined);
  });
  await joins('between-users');
  // Somebody who still has a copy of before.
  const nc = await connectBus(hub.up.natsAddress, stolen, 'ops');
  await expect(rotate('service-keys', {}, stateDir)).rejects.toMatchObject({
    code: 'ROTATION_NOT_DUE',
    message: expect.stringContaining('ops'),
  });
  const { bus } = JSON.parse(readFileSync(setupFile, 'utf8')) as { bus: { jwt: string } };
  expect(decodeJwt(bus.jwt)?.iss).toBe(files.read('hub').keys.hubSigner);
  await rotate('service-keys', { now: true }, stateDir);
  await until('the copy is void', () => isLetIn(stolen).then((isIn) => !isIn));
  await nc.close();
  expect((await trustStatus(files)).serviceKey.former).toBeUndefined();
  await joins('after-users');
  await restartNats();
  await joins('after-users-and-restart');
  await expect(rotate('account-keys', {}, stateDir)).rejects.toThrow(/names its account by that key/);
});

/** Whether these credentials are let in. */
async function isLetIn(credentials: BusCredentials): Promise<boolean> {
  try {
    const nc = await connect({
      ...connectionOptions(hub.up.natsAddress, 'ops'),
      authenticator: jwtProof(credentials),
      reconnect: false,
      ignoreAuthErrorAbort: false,
    });
    await nc.close();
    return true;
  } catch {
    return false;
  }
}

test('the operator key is replaced: at once what it signed, at the next start the list', async () => {
  const before = (await trustStatus(files)).operator;
  const doubtBefore = await wasEverInDoubt('old');
  await rotate('operator-keys', {}, stateDir);
  const after = (await trustStatus(files)).operator;
  expect(after.listed).not.toContain(before.signs);
  expect(after.listed).toContain(after.signs);
  await joins('before-restart');
  expect(await wasEverInDoubt('old')).toEqual(doubtBefore);
  await expect(rotate('operator-keys', {}, stateDir)).rejects.toMatchObject({ code: 'ROTATION_NOT_DUE' });
  await restartNats();
  await joins('after-restart');
  // Twice: by then every key of the beginning is gone. As one leaves it that was stopped once the account-controller had the other key.
  const { operatorSigningSeed: leaked } = files.read('account-controller');
  const other = files.read('offline').operatorSigners.find((seed) => seed !== leaked) ?? '';
  const { publicKey: to } = nkeyFromSeed(other);
  const begun = { stage: 'announced', atMs: Date.now(), to } as const;
  files.change('hub', (state) => ({ ...state, rotations: { ...state.rotations, 'operator-keys': begun } }));
  files.change('account-controller', (identity) => ({ ...identity, operatorSigningSeed: other }));
  await rotate('operator-keys', {}, stateDir);
  expect((await trustStatus(files)).operator.signs).toBe(keyFingerprint(to));
  expect(files.read('offline').operatorSigners).not.toContain(leaked);
  expect(files.read('hub').rotations).not.toHaveProperty('operator-keys');
  await joins('after-second');
  await hub.untilReady('old');
});

test('the CA is replaced, and agents, services and newcomers follow', async () => {
  // The servers were restarted before.
  const doubtBefore = await wasEverInDoubt('old');
  await rotate('ca', {}, stateDir);
  const { caPem: both, caCertHash } = files.read('hub');
  expect(caCertHash.split(',')).toHaveLength(2);
  await until('the connected agent knows both', async () => (await stateOf(old)).hubCaPem === both);
  const info = await hub.up.admin.get<KubeObject & { data?: Record<string, string> }>(resources.configMaps, {
    name: 'rollcall-hub',
    namespace: 'rollcall-system',
  });
  expect(info?.data).toMatchObject({ caCertHash, caBundle: both });
  const pinned = await joins('knows-both');
  // Its day is over; but an agent that renewed last before the announcement has not heard of it.
  const announced = files.read('hub').rotations ?? {};
  const since = (atMs: number) =>
    files.change('hub', (state) => ({
      ...state,
      rotations: { ...announced, ca: { stage: 'announced', atMs } },
    }));
  const dayAgoMs = Date.now() - 26 * 3_600_000;
  since(dayAgoMs);
  const nobody = { ...files, address: { ...files.address, servers: ['127.0.0.1:1'] } };
  await expect(checkAgentsHeard(nobody)).rejects.toThrow(/does not answer/);
  since(Date.now() + 60_000);
  await expect(checkAgentsHeard(files)).rejects.toThrow(
    /^0 of \d+ connected agents have heard of the next CA; not yet: after-drop, /,
  );
  since(dayAgoMs);
  await rotate('ca', {}, stateDir);
  const { caPem: next } = files.read('hub');
  expect(both.endsWith(next)).toBe(true);
  expect(readFileSync(join(stateDir, 'nats', 'server.pem'), 'utf8')).toContain(next.trim());
  for (const agent of [old, pinned]) {
    await until('the agent knows the next CA alone', async () => (await stateOf(agent)).hubCaPem === next);
  }
  await joins('knows-next');
  expect(await wasEverInDoubt('old')).toEqual(doubtBefore);

  // What reads its CA from a file follows it as well.
  await restartNats();
  await hub.untilReady('old');
});

test('a life that was lowered before keys roll over keeps the last step waiting, and so does one that nobody says', async () => {
  const hourMs = 3_600_000;
  const beganAtMs = Date.now();
  // The CA is another one now.
  files = openHubFiles(stateDir);
  await startRegistrar('48h');
  await trustStatus(files);
  await startRegistrar('6s');
  await rotate('signing-keys', {}, stateDir);
  const dueOf = async () => {
    const { rotations } = await trustStatus(files);
    return Date.parse(rotations.find(({ key }) => key === 'signing-keys')?.due ?? '');
  };
  expect(await dueOf()).toBeGreaterThanOrEqual(beganAtMs + 49 * hourMs);
  await ownRegistrar?.stop();
  ownRegistrar = undefined;
  // Also where it would be due by all that is known.
  files.change('hub', ({ credentialLives: _before, ...state }) => ({
    ...state,
    rotations: {
      ...state.rotations,
      'signing-keys': { stage: 'switched', atMs: beganAtMs - 100 * hourMs },
    },
  }));
  await expect(rotate('signing-keys', {}, stateDir)).rejects.toMatchObject({
    code: 'ROTATION_NOT_DUE',
    message: expect.stringContaining('no registrar says how long credentials live'),
  });
  expect(files.read('hub').keys.moreAgentSigners).toHaveLength(1);
  await rotate('signing-keys', { now: true }, stateDir);
  expect(files.read('hub').keys.moreAgentSigners).toBeUndefined();
  await startRegistrar('6s');
  await hub.untilReady('old');
});
