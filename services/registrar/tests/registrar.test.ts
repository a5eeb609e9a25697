import { randomUUID } from 'node:crypto';
import { changed, clusterRecord, draft, nameRecord, tokenRecord } from '@rollcall/shared/events';
import { createNkey, createRegistrationToken, tokenIdOf } from '@rollcall/shared/trust';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type EventLog, openFactStore } from '@rollcall/shared/bus';
import { loadConfig } from '@rollcall/shared/config';
import type { RunningService } from '@rollcall/shared/service';
import { decideAs, declareToken, requestAs } from '../../../tests/harness/events.ts';
import { aJoin, joinWith } from '../../../tests/harness/join.ts';
import { readOpenMetrics } from '../../../tests/harness/open-metrics.ts';
import {
  connectWithCredentials,
  connectWithKey,
  connectWithToken,
} from '../../../tests/harness/raw-agent.ts';
import { startTestHub, type TestHub } from '../../../tests/harness/test-hub.ts';
import { configSchema, start } from '../main.ts';

let hub: TestHub;
let registrars: RunningService[];
let approverLog: EventLog;

beforeAll(async () => {
  hub = await startTestHub();
  const config = loadConfig(configSchema, {
    flags: {},
    environment: {},
    values: { ...hub.serviceSettings('registrar'), healthPort: '0' },
  });
  registrars = await Promise.all([start(config), start(config)]);
  approverLog = await hub.openLog('approver');
});
afterAll(async () => {
  await Promise.all(registrars.map((registrar) => registrar.stop()));
  await hub[Symbol.asyncDispose]();
});

/** Requests to join with that outcome, as the registrars have counted them. */
async function counted(outcome: string): Promise<number> {
  const values = registrars.map(async ({ healthPort }) => {
    const text = await (await fetch(`http://127.0.0.1:${healthPort}/metrics`)).text();
    const samples = readOpenMetrics(text).get('rollcall_requests')?.samples ?? [];
    return samples.find(({ labels }) => labels.get('outcome') === outcome)?.value ?? 0;
  });
  return (await Promise.all(values)).reduce((sum, value) => sum + value, 0);
}

test('a request is kept with the use of its token and its name, waits, and is admitted when it is approved', async () => {
  const token = await declareToken(approverLog, hub.hub.hubId);
  await using agent = await connectWithToken(hub, token);
  const body = aJoin(token);
  const waiting = await joinWith(agent, token, body);
  expect(waiting.result).toMatchObject({ kind: 'waiting', reason: 'Pending' });
  const record = clusterRecord(await approverLog.read({ kind: 'cluster', id: body.clusterId }));
  expect(record.identity).toMatchObject({ state: 'requested', clusterName: body.clusterName });
  // Known before anything could be decided about it, so that no decision is older for the agent.
  expect(waiting.atMs).toBeLessThanOrEqual(record.identity?.request.requestedAtMs ?? 0);
  expect(
    tokenRecord(await approverLog.read({ kind: 'token', id: tokenIdOf(token.key.publicKey) })).uses?.used,
  ).toBe(1);
  expect(nameRecord(await approverLog.read({ kind: 'name', id: body.clusterName })).holder).toBe(
    body.clusterId,
  );

  const news = agent.nextNews();
  await decideAs(approverLog, body.clusterId, 'approved');
  const { result } = await news;
  expect(result).toMatchObject({
    kind: 'admitted',
    clusterName: body.clusterName,
    heartbeatIntervalMs: 15_000,
  });
  if (result.kind !== 'admitted') return;
  await using member = await connectWithCredentials(hub, agent.key, {
    jwt: result.credentials,
    seed: agent.key.seed,
  });
  const renewed = await member.request('renew', { clusterId: body.clusterId });
  expect(renewed.result.kind).toBe('admitted');
  expect(
    clusterRecord(await approverLog.read({ kind: 'cluster', id: body.clusterId })).identity,
  ).toMatchObject({
    state: 'admitted',
    admittedKey: agent.key.publicKey,
  });
});

test('a changed interval is told to the live member at once, and with the reply to its facts', async () => {
  const token = await declareToken(approverLog, hub.hub.hubId);
  await using agent = await connectWithToken(hub, token);
  const body = aJoin(token);
  await joinWith(agent, token, body);
  const news = agent.nextNews();
  const section = await decideAs(approverLog, body.clusterId, 'approved');
  const { result } = await news;
  if (result.kind !== 'admitted') throw new Error(`told ${result.kind}`);
  const credentials = { jwt: result.credentials, seed: agent.key.seed };
  await using member = await connectWithCredentials(hub, agent.key, credentials);
  const record = clusterRecord(await approverLog.read({ kind: 'cluster', id: body.clusterId }));
  const settings = { ...section, heartbeat: { intervalSeconds: 5, graceSeconds: 20 } };
  const what = { reason: 'SettingsChanged', message: 'a test', section: settings };
  await approverLog.append([draft(changed, record, what)], { correlation: 'test' });
  let told = await member.nextNews();
  while (told.result.kind !== 'done') told = await member.nextNews();
  expect(told.result.heartbeatIntervalMs).toBe(5000);
  const facts = await member.request('facts', { clusterId: body.clusterId, facts: body.facts });
  expect(facts.result).toMatchObject({ kind: 'done', heartbeatIntervalMs: 5000 });
});

test('asking again with the same key gives the same answer and spends nothing', async () => {
  const token = await declareToken(approverLog, hub.hub.hubId);
  await using agent = await connectWithToken(hub, token);
  const body = aJoin(token);
  await joinWith(agent, token, body);
  const before = await approverLog.read({ kind: 'cluster', id: body.clusterId });
  expect((await joinWith(agent, token, body)).result.kind).toBe('waiting');
  expect((await approverLog.read({ kind: 'cluster', id: body.clusterId })).head).toEqual(before.head);
});

test('what a waiting agent says otherwise is kept with its request, but no labels, and at no use of its token', async () => {
  const token = await declareToken(approverLog, hub.hub.hubId);
  await using agent = await connectWithToken(hub, token);
  const body = aJoin(token);
  const aggregate = { kind: 'cluster', id: body.clusterId } as const;
  const agoMs = Date.now() - 300_000;
  const pastLog = await hub.openLog('registrar', { nowMs: () => agoMs });
  const labels = { env: 'prod' };
  await requestAs(pastLog, body.clusterId, agoMs, { key: agent.key.publicKey, labels, claimed: { labels } });
  await decideAs(approverLog, body.clusterId, 'held');
  const { id } = clusterRecord(await approverLog.read(aggregate)).identity?.request ?? {};

  const otherwise = { ...body, labels: { env: 'harmless' }, facts: { ...body.facts, provider: 'gcp' } };
  expect((await joinWith(agent, token, otherwise)).result).toMatchObject({ kind: 'waiting' });
  const told = clusterRecord(await approverLog.read(aggregate));
  expect(told.newest).toMatchObject({ type: 'requested', reason: 'ClaimsChanged' });
  expect(told.identity?.request).toMatchObject({
    id,
    requestedAtMs: agoMs,
    labels: { env: 'prod' },
    claimed: { kubernetesVersion: 'v1.36.3', provider: 'gcp', labels: { env: 'prod' } },
  });
  expect((await joinWith(agent, token, otherwise)).result.kind).toBe('waiting');
  expect((await approverLog.read(aggregate)).head).toEqual(told.head);
  const { uses } = tokenRecord(await approverLog.read({ kind: 'token', id: tokenIdOf(token.key.publicKey) }));
  expect(uses).toBeUndefined();
});

test('an agent that asks again before it is answered has a reply to each, and one request', async () => {
  const token = await declareToken(approverLog, hub.hub.hubId);
  await using agent = await connectWithToken(hub, token);
  const body = aJoin(token);
  const before = { requested: await counted('requested'), repeated: await counted('repeated') };
  const answers = await Promise.all([1, 2, 3, 4].map(() => joinWith(agent, token, body)));
  expect(await counted('requested')).toBe(before.requested + 1);
  expect(await counted('repeated')).toBe(before.repeated + 3);
  expect(answers.map(({ result }) => result.kind)).toEqual(['waiting', 'waiting', 'waiting', 'waiting']);
  expect(new Set(answers.map(({ inReplyTo }) => inReplyTo)).size).toBe(4);
  const { uses } = tokenRecord(await approverLog.read({ kind: 'token', id: tokenIdOf(token.key.publicKey) }));
  expect(uses?.used).toBe(1);
});

test('of fifty agents with one single-use token one gets in', async () => {
  const token = await declareToken(approverLog, hub.hub.hubId);
  const agents = await Promise.all(Array.from({ length: 50 }, () => connectWithToken(hub, token)));
  const answers = await Promise.all(agents.map((agent) => joinWith(agent, token, aJoin(token))));
  const kinds = answers.map(({ result }) => (result.kind === 'refused' ? result.code : result.kind));
  expect(kinds.filter((kind) => kind === 'waiting')).toHaveLength(1);
  expect(kinds.filter((kind) => kind === 'TOKEN_USED_UP')).toHaveLength(49);
  expect(
    tokenRecord(await approverLog.read({ kind: 'token', id: tokenIdOf(token.key.publicKey) })).uses?.used,
  ).toBe(1);
  await Promise.all(agents.map((agent) => agent[Symbol.asyncDispose]()));
});

test('an unknown token, a withdrawn one and a forged second proof are not let in', async () => {
  const unknown = createRegistrationToken(hub.hub.hubId);
  await expect(connectWithToken(hub, unknown)).rejects.toThrow(/uthorization/);
  const withdrawn = await declareToken(approverLog, hub.hub.hubId, { withdrawn: true });
  await expect(connectWithToken(hub, withdrawn)).rejects.toThrow(/uthorization/);
  const known = await declareToken(approverLog, hub.hub.hubId);
  await expect(connectWithToken(hub, known, { forgePass: true })).rejects.toThrow(/uthorization/);
});

const refusals: {
  name: string;
  code: string;
  token?: Parameters<typeof declareToken>[2];
  body?: Record<string, unknown>;
  ask?: { hub?: string; atMs?: number };
}[] = [
  { name: 'an expired token', code: 'TOKEN_EXPIRED', token: { expiresAtMs: Date.now() - 1 } },
  { name: 'a token for another name', code: 'TOKEN_NAME_MISMATCH', token: { clusterName: 'edge-*' } },
  {
    name: 'a cluster called kube-system',
    code: 'CLUSTER_NAME_RESERVED',
    body: { clusterName: 'kube-system' },
  },
  { name: 'an unsafe id', code: 'CLUSTER_ID_INVALID', body: { clusterId: '*' } },
  { name: 'an unsafe name', code: 'CLUSTER_NAME_INVALID', body: { clusterName: 'a.b' } },
  { name: 'a member too old', code: 'MEMBER_TOO_OLD', body: { facts: { kubernetesVersion: 'v1.27.9' } } },
  { name: 'an unknown field', code: 'REQUEST_INVALID', body: { admin: true } },
  { name: 'a request for another hub', code: 'HUB_WRONG', ask: { hub: 'another' } },
  { name: 'an agent whose clock is wrong', code: 'CLOCK_SKEW', ask: { atMs: 0 } },
];
test.each(refusals)('$name is refused with $code, and counted', async (refusal) => {
  const { code, token: overrides, body, ask } = refusal;
  const before = await counted(code);
  const token = await declareToken(approverLog, hub.hub.hubId, overrides);
  await using agent = await connectWithToken(hub, token);
  const news = agent.nextNews();
  const signers = [agent.key, token.key];
  const asked = agent.request('join', aJoin(token, body), { signers, ...ask });
  const answer = await Promise.race([asked, news]);
  expect(answer.result).toMatchObject({ kind: 'refused', code });
  expect(await counted(code)).toBe(before + 1);
});

test('two clusters with one name: the second is refused, and people find that on its request', async () => {
  const token = await declareToken(approverLog, hub.hub.hubId, { uses: 2 });
  await using first = await connectWithToken(hub, token);
  await using second = await connectWithToken(hub, token);
  const clusterName = `twin-${randomUUID().slice(0, 8)}`;
  expect((await joinWith(first, token, aJoin(token, { clusterName }))).result.kind).toBe('waiting');
  const body = aJoin(token, { clusterName });
  expect((await joinWith(second, token, body)).result).toMatchObject({ kind: 'refused', code: 'NAME_TAKEN' });
  const record = clusterRecord(await approverLog.read({ kind: 'cluster', id: body.clusterId }));
  expect(record.identity).toMatchObject({ state: 'refused', refusal: { code: 'NAME_TAKEN' } });
});

test('another key for a known cluster asks without touching the owner', async () => {
  const token = await declareToken(approverLog, hub.hub.hubId, { uses: 2 });
  await using owner = await connectWithToken(hub, token);
  await using thief = await connectWithToken(hub, token);
  const body = aJoin(token);
  const news = owner.nextNews();
  await joinWith(owner, token, body);
  await decideAs(approverLog, body.clusterId, 'approved');
  await news;
  expect((await joinWith(thief, token, body)).result.kind).toBe('waiting');
  const { identity } = clusterRecord(await approverLog.read({ kind: 'cluster', id: body.clusterId }));
  expect(identity).toMatchObject({
    state: 'admitted',
    admittedKey: owner.key.publicKey,
    request: { key: thief.key.publicKey },
  });
  await using returning = await connectWithKey(hub, owner.key, body.clusterId);
  expect((await returning.request('renew', { clusterId: body.clusterId })).result.kind).toBe('admitted');
  await using thiefReturning = await connectWithKey(hub, thief.key, body.clusterId);
  expect((await thiefReturning.request('renew', { clusterId: body.clusterId })).result.kind).toBe('waiting');
});

test('a message signed by another key than its subject is refused; another subject is refused by the server', async () => {
  const token = await declareToken(approverLog, hub.hub.hubId, { uses: 2 });
  await using agent = await connectWithToken(hub, token);
  const forged = createNkey('user');
  const news = agent.nextNews();
  void agent.request('join', aJoin(token), { signers: [forged, token.key] });
  expect((await news).result).toMatchObject({ kind: 'refused', code: 'PROOF_INVALID' });
  const violation = (async () => {
    for await (const status of agent.nc.status()) if (status.type === 'error') return status.error.message;
    return undefined;
  })();
  void agent.request('join', aJoin(token), {
    subject: `rollcall.request.${forged.publicKey}.join`,
    signers: [forged, token.key],
  });
  expect(await violation).toMatch(/ermissions/);
});

test('garbage is refused to its sender and blocks nobody', async () => {
  const token = await declareToken(approverLog, hub.hub.hubId);
  await using agent = await connectWithToken(hub, token);
  const unsigned = `{"signed":"${'x'.repeat(50_000)}","signatures":{}}`;
  const tries = ['', '{', '[]', '{"signed":1}', '\u0000', unsigned];
  for (const garbage of tries) {
    const news = agent.nextNews();
    agent.nc.publish(`rollcall.request.${agent.key.publicKey}.join`, garbage);
    const code = garbage === unsigned ? 'PROOF_INVALID' : 'REQUEST_INVALID';
    expect((await news).result).toMatchObject({ kind: 'refused', code });
  }
  expect((await joinWith(agent, token, aJoin(token))).result.kind).toBe('waiting');
});

test('whoever asks in the name of a cluster with an owner does not change what is shown of it', async () => {
  const token = await declareToken(approverLog, hub.hub.hubId, { uses: 2 });
  await using owner = await connectWithToken(hub, token);
  await using thief = await connectWithToken(hub, token);
  const body = aJoin(token);
  const news = owner.nextNews();
  await joinWith(owner, token, body);
  await decideAs(approverLog, body.clusterId, 'approved');
  await news;
  const forged = { ...body, facts: { kubernetesVersion: 'v1.99.0' } };
  for (const asked of ['first', 'again']) {
    expect((await joinWith(thief, token, forged)).result.kind, asked).toBe('waiting');
  }
  const facts = openFactStore(await hub.connectAs('registrar'));
  expect((await facts.get(body.clusterId))?.facts).toEqual(body.facts);
  await joinWith(owner, token, { ...body, facts: { kubernetesVersion: 'v1.37.0' } });
  expect((await facts.get(body.clusterId))?.facts).toEqual({ kubernetesVersion: 'v1.37.0' });
});

test('facts longer than history keeps of them are no reason to refuse', async () => {
  const token = await declareToken(approverLog, hub.hub.hubId);
  await using agent = await connectWithToken(hub, token);
  const facts = { kubernetesVersion: `v1.36.3+${'x'.repeat(200)}` };
  expect((await joinWith(agent, token, aJoin(token, { facts }))).result.kind).toBe('waiting');
});

test('an agent of a newer version registers, and tells facts; of those the hub keeps what it knows', async () => {
  const token = await declareToken(approverLog, hub.hub.hubId);
  await using agent = await connectWithToken(hub, token);
  const facts = openFactStore(await hub.connectAs('registrar'));
  const newer = { weather: 'rain', kubernetesVersion: 'v1.40.0', sky: { clouds: [1, 2] } };
  const body = aJoin(token, { facts: newer });
  expect((await joinWith(agent, token, body)).result.kind).toBe('waiting');
  expect((await facts.get(body.clusterId))?.facts).toEqual({ kubernetesVersion: 'v1.40.0' });

  const news = agent.nextNews();
  await decideAs(approverLog, body.clusterId, 'approved');
  const { result } = await news;
  if (result.kind !== 'admitted') throw new Error(`told ${result.kind}`);
  const credentials = { jwt: result.credentials, seed: agent.key.seed };
  await using member = await connectWithCredentials(hub, agent.key, credentials);
  const told = { ...newer, kubernetesVersion: 'v1.41.0' };
  const taken = await member.request('facts', { clusterId: body.clusterId, facts: told });
  expect(taken.result.kind).toBe('done');
  expect((await facts.get(body.clusterId))?.facts).toEqual({ kubernetesVersion: 'v1.41.0' });
});

test('a verb that the hub does not know is refused in words', async () => {
  const key = createNkey('user');
  const credentials = hub.agentCredentials('member', 'id-1', { seed: key.seed });
  await using member = await connectWithCredentials(hub, key, credentials);
  const news = member.nextNews();
  member.nc.publish(`rollcall.request.${key.publicKey}.access`, '{}');
  expect((await news).result).toMatchObject({ kind: 'refused', code: 'REQUEST_INVALID' });
});

test('an agent that floods is put off, and the others are answered', async () => {
  const token = await declareToken(approverLog, hub.hub.hubId, { uses: 2 });
  await using loud = await connectWithToken(hub, token);
  await using quiet = await connectWithToken(hub, token);
  const busy = (async () => {
    for (;;) {
      const { result } = await loud.nextNews();
      if (result.kind === 'refused' && result.code === 'HUB_BUSY') return result;
    }
  })();
  // More than it may, and not so many that its connection is ended before it has read why.
  for (let count = 0; count < 200; count++) void joinWith(loud, token, aJoin(token));
  expect(['waiting', 'refused']).toContain((await joinWith(quiet, token, aJoin(token))).result.kind);
  expect((await busy).retryAfterMs).toBe(5000);
});
