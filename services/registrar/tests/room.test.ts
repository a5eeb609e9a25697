import { generateKeyPairSync, randomUUID, sign } from 'node:crypto';
import { jetstreamManager } from '@nats-io/jetstream';
import type { EventLog } from '@rollcall/shared/bus';
import { loadConfig } from '@rollcall/shared/config';
import { clusterRecord } from '@rollcall/shared/events';
import { createNkey, type RegistrationToken } from '@rollcall/shared/trust';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { askServices, figureOf } from '../../../cli/status/ask-services.ts';
import { until } from '../../../tests/harness/embedded.ts';
import { decideAs, declareToken } from '../../../tests/harness/events.ts';
import { connectWithCredentials, connectWithToken, type RawAgent } from '../../../tests/harness/raw-agent.ts';
import { startTestHub, type TestHub } from '../../../tests/harness/test-hub.ts';
import { configSchema, start } from '../main.ts';

let hub: TestHub;
let approverLog: EventLog;
let ops: ReturnType<TestHub['connectAs']>;
beforeAll(async () => {
  hub = await startTestHub();
  approverLog = await hub.openLog('approver');
  ops = hub.connectAs('inspector');
});
afterAll(() => hub[Symbol.asyncDispose]());

async function startRegistrar(more: Record<string, string>): Promise<{ stop(): Promise<void> }> {
  const values = { ...hub.serviceSettings('registrar'), ...more };
  const registrar = await start(loadConfig(configSchema, { flags: {}, environment: {}, values }));
  onTestFinished(() => registrar.stop());
  return registrar;
}

interface Asker extends RawAgent {
  readonly clusterId: string;
  /** Asks to join and gives the kind of the reply, or the code of the refusal. */
  join(): Promise<string>;
}

async function anAgent(token: RegistrationToken): Promise<Asker> {
  const agent = await connectWithToken(hub, token);
  onTestFinished(() => agent.nc.close());
  const clusterId: string = randomUUID();
  const body = {
    clusterId,
    clusterName: `c-${clusterId.slice(0, 8)}`,
    tokenKey: token.key.publicKey,
    facts: { kubernetesVersion: 'v1.36.3' },
  };
  return {
    ...agent,
    clusterId,
    async join() {
      const { result } = await agent.request('join', body, { signers: [agent.key, token.key] });
      return result.kind === 'refused' ? result.code : result.kind;
    },
  };
}

const identityOf = async (clusterId: string) =>
  clusterRecord(await approverLog.read({ kind: 'cluster', id: clusterId })).identity;

test('open requests are capped by token, for all replicas and over a restart, and a decision makes room', async () => {
  const settings = { maxOpenRequestsPerToken: '3', maxOpenRequests: '1000' };
  const first = await startRegistrar(settings);
  const token = await declareToken(approverLog, hub.hub.hubId, { uses: 'unlimited' });
  const agents = await Promise.all([1, 2, 3].map(() => anAgent(token)));
  expect(await Promise.all(agents.map((agent) => agent.join()))).toEqual(['waiting', 'waiting', 'waiting']);
  const fourth = await anAgent(token);
  // The count follows the stream, a moment behind.
  await until('the cap is reached', async () => {
    const one = await anAgent(token);
    return (await one.join()) === 'TOO_MANY_OPEN_REQUESTS';
  });
  expect(await fourth.join()).toBe('TOO_MANY_OPEN_REQUESTS');
  expect(await identityOf(fourth.clusterId)).toBeUndefined();
  // Who is waiting already hears so, and another token is not concerned.
  expect(await agents[0]?.join()).toBe('waiting');
  const other = await declareToken(approverLog, hub.hub.hubId);
  expect(await (await anAgent(other)).join()).toBe('waiting');

  await first.stop();
  await startRegistrar(settings);
  await until('the cap holds again', async () => {
    const one = await anAgent(token);
    return (await one.join()) === 'TOO_MANY_OPEN_REQUESTS';
  });
  const open = [];
  for await (const { id } of approverLog.scan({ filter: 'cluster.*.requested' })) open.push(id);
  for (const id of open) await decideAs(approverLog, id, 'denied');
  await until('there is room again', async () => (await fourth.join()) === 'waiting');
});

/** An agent that was let in, over its own credentials. */
async function aMember(token: RegistrationToken): Promise<{ agent: RawAgent; clusterId: string }> {
  const asker = await anAgent(token);
  await asker.join();
  const news = asker.nextNews();
  await decideAs(approverLog, asker.clusterId, 'approved');
  const { result } = await news;
  if (result.kind !== 'admitted') throw new Error(`told ${result.kind}`);
  const credentials = { jwt: result.credentials, seed: asker.key.seed };
  const agent = await connectWithCredentials(hub, asker.key, credentials);
  onTestFinished(() => agent.nc.close());
  return { agent, clusterId: asker.clusterId };
}

/** A proof of member by an issuer that is another one each time. */
function freshProof(agentKey: string) {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const iat = Math.floor(Date.now() / 1000);
  const head = encode({ alg: 'ES256', kid: 'k' });
  const aud = [`rollcall:${hub.hub.hubId}:${agentKey}`];
  const body = encode({ iss: 'https://m', sub: 'system:serviceaccount:a:b', aud, iat, exp: iat + 600 });
  const key = { key: privateKey, dsaEncoding: 'ieee-p1363' } as const;
  const signature = sign('sha256', Buffer.from(`${head}.${body}`), key).toString('base64url');
  const { kty, crv, x, y } = publicKey.export({ format: 'jwk' });
  return { token: `${head}.${body}.${signature}`, keys: [{ kid: 'k', kty, crv, x, y }] };
}

/** Renews with another issuer each time and gives the kinds of the replies. */
async function renewOften({ agent, clusterId }: Awaited<ReturnType<typeof aMember>>, times: number) {
  const kinds = [];
  for (let time = 0; time < times; time++) {
    const body = { clusterId, member: freshProof(agent.key.publicKey) };
    kinds.push((await agent.request('renew', body)).result.kind);
  }
  return new Set(kinds);
}

async function pinsOf(clusterId: string): Promise<number> {
  let count = 0;
  for await (const _ of approverLog.scan({ filter: `cluster.${clusterId}.pinned` })) count++;
  return count;
}

/** As `rollcall status` hears it. */
async function usedPercent(): Promise<number> {
  const answers = await askServices(await ops);
  return figureOf(answers, 'registrar', 'eventsUsedPercent') ?? -1;
}

test('a member whose issuer is another one with each renewal is renewed each time, and four of them are kept', async () => {
  await startRegistrar({});
  const member = await aMember(await declareToken(approverLog, hub.hub.hubId));
  expect(await renewOften(member, 20)).toEqual(new Set(['admitted']));
  expect(await pinsOf(member.clusterId)).toBe(4);
});

test('a token is used so often a day, also over a restart and where every request is decided at once', async () => {
  const settings = { maxUsesPerTokenPerDay: '3' };
  const first = await startRegistrar(settings);
  const token = await declareToken(approverLog, hub.hub.hubId, { uses: 'unlimited' });
  for (const agent of await Promise.all([1, 2].map(() => anAgent(token)))) {
    expect(await agent.join()).toBe('waiting');
    await decideAs(approverLog, agent.clusterId, 'approved');
  }
  await first.stop();
  await startRegistrar(settings);
  expect(await (await anAgent(token)).join()).toBe('waiting');
  const tooLate = await anAgent(token);
  expect(await tooLate.join()).toBe('HUB_BUSY');
  expect(await identityOf(tooLate.clusterId)).toBeUndefined();
  const other = await declareToken(approverLog, hub.hub.hubId);
  expect(await (await anAgent(other)).join()).toBe('waiting');
});

test('requests of one token have so many bytes a day, also over a restart, and those of all tokens together', async () => {
  const settings = { maxBytesPerTokenPerDay: '2000' };
  const first = await startRegistrar(settings);
  const token = await declareToken(approverLog, hub.hub.hubId, { uses: 'unlimited' });
  const answers: string[] = [];
  for (let asked = 0; asked < 3; asked++) answers.push(await (await anAgent(token)).join());
  await first.stop();
  const second = await startRegistrar(settings);
  for (let asked = 0; asked < 3; asked++) answers.push(await (await anAgent(token)).join());
  const taken = answers.filter((answer) => answer === 'waiting');
  expect(taken.length).toBeGreaterThan(2);
  expect(answers.slice(taken.length)).toEqual(answers.slice(taken.length).map(() => 'HUB_BUSY'));
  expect(answers.at(-1)).toBe('HUB_BUSY');
  const other = await declareToken(approverLog, hub.hub.hubId, { uses: 'unlimited' });
  expect(await (await anAgent(other)).join()).toBe('waiting');
  await second.stop();
  await startRegistrar({ maxBytesPerDay: '700' });
  const [one, two] = [await anAgent(other), await anAgent(await declareToken(approverLog, hub.hub.hubId))];
  expect(await one.join()).toBe('waiting');
  expect(await two.join()).toBe('HUB_BUSY');
  expect(await identityOf(two.clusterId)).toBeUndefined();
});

test('of refusals with one token ten are kept at first, whatever clusters they are about', async () => {
  await startRegistrar({});
  const token = await declareToken(approverLog, hub.hub.hubId);
  expect(await (await anAgent(token)).join()).toBe('waiting');
  const late = await Promise.all(Array.from({ length: 15 }, () => anAgent(token)));
  const answers = await Promise.all(late.map((agent) => agent.join()));
  expect(new Set(answers)).toEqual(new Set(['TOKEN_USED_UP']));
  const kept = await Promise.all(late.map(({ clusterId }) => identityOf(clusterId)));
  expect(kept.filter((identity) => identity?.state === 'refused')).toHaveLength(10);
});

test('at 85 % of the disk new requests are refused, members and those who wait go on, and it ends by itself', async () => {
  await startRegistrar({ spaceInterval: '1s' });
  const token = await declareToken(approverLog, hub.hub.hubId, { uses: 'unlimited' });
  const before = await anAgent(token);
  expect(await before.join()).toBe('waiting');
  const expired = await declareToken(approverLog, hub.hub.hubId, { expiresAtMs: Date.now() - 1 });
  const late = await anAgent(expired);
  const member = await aMember(token);
  const jsm = await jetstreamManager(await hub.connectAs('setup'));
  const { state } = await jsm.streams.info('EVENTS');
  await jsm.streams.update('EVENTS', { max_bytes: Math.floor(state.bytes / 0.9) });
  const refused = await anAgent(token);
  await until('the registrar has seen it', async () => (await usedPercent()) >= 85);
  expect(await refused.join()).toBe('HUB_FULL');
  expect(await identityOf(refused.clusterId)).toBeUndefined();
  expect(await before.join()).toBe('waiting');
  // Nothing is kept that an agent alone causes.
  const { last_seq } = (await jsm.streams.info('EVENTS')).state;
  expect(await late.join()).toBe('TOKEN_EXPIRED');
  expect(await renewOften(member, 3)).toEqual(new Set(['admitted']));
  const next = createNkey('user');
  const operation = { clusterId: member.clusterId, newKey: next.publicKey };
  const rotated = await member.agent.request('rotate', operation, { signers: [member.agent.key, next] });
  expect(rotated.result).toMatchObject({ kind: 'refused', code: 'HUB_FULL' });
  expect((await jsm.streams.info('EVENTS')).state.last_seq).toBe(last_seq);
  await jsm.streams.update('EVENTS', { max_bytes: -1 });
  await until('there is room again', async () => (await usedPercent()) < 85);
  expect(await refused.join()).toBe('waiting');
});
