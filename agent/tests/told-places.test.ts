import { readFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { once } from 'node:events';
import { join } from 'node:path';
import type { NatsConnection } from '@nats-io/transport-node';
import type { EventLog } from '@rollcall/shared/bus';
import { loadConfig } from '@rollcall/shared/config';
import { type Answer, answerSubject, encodeAnswer } from '@rollcall/shared/protocol';
import { type HubCas, signHubCas } from '@rollcall/shared/protocol/hub-cas';
import type { RunningService } from '@rollcall/shared/service';
import { createCa, nkeyFromSeed, spkiPin } from '@rollcall/shared/trust';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { configSchema, start } from '../../services/registrar/main.ts';
import { decideAs, declareToken } from '../../tests/harness/events.ts';
import { startTestHub, type TestHub } from '../../tests/harness/test-hub.ts';
import { directoryKeyStore } from '../main.ts';
import { startAgent } from './agent-under-test.ts';

let hub: TestHub;
let registrar: RunningService;
let log: EventLog;
let thief: NatsConnection;

beforeAll(async () => {
  hub = await startTestHub();
  const values = hub.serviceSettings('registrar');
  registrar = await start(loadConfig(configSchema, { flags: {}, environment: {}, values }));
  log = await hub.openLog('approver');
  thief = await hub.connectAs('registrar');
});
afterAll(async () => {
  await registrar.stop();
  await hub[Symbol.asyncDispose]();
});

/** A member, and what it has kept. */
async function aMember(clientId: string) {
  const { text: token } = await declareToken(log, hub.hub.hubId);
  const trust = { pins: [spkiPin(hub.address.caPem)] };
  const one = await startAgent(hub, { token, clientId, trust });
  await one.heard.next(({ phase }) => phase === 'waiting');
  await decideAs(log, clientId, 'approved');
  await one.agent.admitted();
  const store = directoryKeyStore(one.directory);
  const kept = async () => (await store.load()) ?? Promise.reject(new Error('it has kept nothing'));
  return { ...one, kept, restartedAgent: () => one.runAgain({ trust }) };
}

/** With all that the registrar has: its user, and the key that signs answers. */
async function answer(
  member: Awaited<ReturnType<typeof aMember>>,
  said: Pick<Answer, 'hubCas' | 'hubAddresses'>,
): Promise<void> {
  const { seed, member: before } = await member.kept();
  const agentKey = nkeyFromSeed(seed).publicKey;
  const identity = readFileSync(join(hub.stateDir, 'identities', 'registrar.json'), 'utf8');
  const { answerKeySeed } = JSON.parse(identity) as { answerKeySeed: string };
  const beatIntervalMs = (before?.beatIntervalMs ?? 0) + 1000;
  const about = { v: 1, hub: hub.hub.hubId, to: agentKey, inReplyTo: 'nothing', atMs: Date.now() } as const;
  const result = { kind: 'done', beatIntervalMs } as const;
  const message = encodeAnswer({ ...about, ...said, result }, nkeyFromSeed(answerKeySeed));
  thief.publish(answerSubject(agentKey, 'pace'), message);
  await expect.poll(async () => (await member.kept()).member?.beatIntervalMs).toBe(beatIntervalMs);
}

const validForDays = 1;
const aCa = () => createCa({ commonName: 'CA', validForDays, nowMs: Date.now() });
const caOfThief = aCa();
const sign = (caPem: string, caKeyPem: string, atMs = Date.now()) =>
  signHubCas({ hub: hub.hub.hubId, caPem, atMs }, caKeyPem);
const hubCaKey = () => readFileSync(join(hub.stateDir, 'nats', 'ca-key.pem'), 'utf8');

test.each<{ name: string; said: () => unknown }>([
  { name: 'as a text', said: () => caOfThief.certificatePem },
  { name: 'signed by itself', said: () => sign(caOfThief.certificatePem, caOfThief.privateKeyPem) },
  {
    name: 'in the place of what the hub’s CA has signed',
    said: () => ({ ...sign(hub.address.caPem, hubCaKey()), signed: caOfThief.certificatePem }),
  },
  {
    name: 'as said of another hub',
    said: () => signHubCas({ hub: 'another', caPem: caOfThief.certificatePem, atMs: Date.now() }, hubCaKey()),
  },
  {
    name: 'which the hub’s CA has named, and its server does not show',
    said: () => sign(caOfThief.certificatePem, hubCaKey()),
  },
])('no answer makes another CA the hub’s: $name', async ({ said }) => {
  await using member = await aMember(`told-${performance.now().toFixed(0)}`);
  await answer(member, { hubCas: said() as HubCas });
  await using again = await member.restartedAgent();
  await again.heard.next(({ phase }) => phase === 'ready');
  expect((await member.kept()).hubCaPem).toBe(hub.address.caPem);
});

test('a CA that the hub’s own has named is known from then on, beside it, and no earlier word takes it back', async () => {
  await using member = await aMember('told-true');
  const both = hub.address.caPem + aCa().certificatePem;
  const atMs = Date.now();
  await answer(member, { hubCas: sign(both, hubCaKey(), atMs) });
  await expect.poll(async () => (await member.kept()).hubCaPem).toBe(both);
  await answer(member, { hubCas: sign(hub.address.caPem, hubCaKey(), atMs - 1) });
  await using again = await member.restartedAgent();
  await again.heard.next(({ phase }) => phase === 'ready');
  expect((await member.kept()).hubCaPem).toBe(both);
});

test('addresses where the hub is not found come after those of before', async () => {
  let asked = 0;
  const stranger = createServer((socket) => {
    asked++;
    socket.on('error', () => undefined).destroy();
  });
  await once(stranger.listen(0, '127.0.0.1'), 'listening');
  await using member = await aMember('told-addresses');
  const hubAddresses = [`127.0.0.1:${(stranger.address() as AddressInfo).port}`];
  await answer(member, { hubAddresses });
  await expect.poll(() => asked).toBeGreaterThan(0);
  expect(await member.kept()).toMatchObject({ hubAddresses, hubAddressesReached: [] });
  const before = asked;
  await using again = await member.restartedAgent();
  await again.heard.next(({ phase }) => phase === 'ready');
  expect(asked).toBe(before);
  stranger.close();
});
