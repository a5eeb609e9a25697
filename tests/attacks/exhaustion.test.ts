import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect as connectTcp, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { NatsConnection } from '@nats-io/transport-node';
import { encodeHeartbeat, type EventLog, followEvents, openEventLog } from '@rollcall/shared/bus';
import { loadConfig } from '@rollcall/shared/config';
import { clusterRecord, type StoredEvent } from '@rollcall/shared/events';
import {
  createRegistrationToken,
  decodeJwt,
  nkeyFromSeed,
  type RegistrationToken,
  signMessage,
} from '@rollcall/shared/trust';
import * as registrar from '@rollcall/registrar';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { keepSendingHeartbeats, startHeartbeat } from '../../services/heartbeat/tests/test-member.ts';
import { decideAs, declareToken } from '../harness/events.ts';
import { connectWithCredentials, connectWithToken, freshId, type RawAgent } from '../harness/raw-agent.ts';
import { startTestHub, type TestHub } from '../harness/test-hub.ts';

let hub: TestHub;
let stopRegistrar: () => Promise<void>;
let approverLog: EventLog;
let ops: NatsConnection;
let opsLog: EventLog;
beforeAll(async () => {
  hub = await startTestHub();
  approverLog = await hub.openLog('approver');
  ops = await hub.connectAs('inspector');
  opsLog = await openEventLog(ops, { epoch: hub.hub.epoch, source: '/rollcall/test' });
  const values = { ...hub.serviceSettings('registrar'), logLevel: 'info' };
  const service = await registrar.start(
    loadConfig(registrar.configSchema, { flags: {}, environment: {}, values }),
  );
  stopRegistrar = () => service.stop();
});
afterAll(async () => {
  await stopRegistrar();
  await hub[Symbol.asyncDispose]();
});

function aJoin(token: RegistrationToken) {
  const clusterId: string = randomUUID();
  const clusterName = `c-${clusterId.slice(0, 8)}`;
  return { clusterId, clusterName, tokenKey: token.key.publicKey, facts: { kubernetesVersion: 'v1.36.3' } };
}

/** Silence of a few seconds would be seen. */
const watchful = { intervalSeconds: 3, graceSeconds: 9 };

/** A cluster that came in as all do: requested, approved, admitted. */
async function aMember(): Promise<{ clusterId: string; nc: NatsConnection }> {
  const token = await declareToken(approverLog, hub.hub.hubId);
  await using agent = await connectWithToken(hub, token);
  const body = aJoin(token);
  await agent.request('join', body, { signers: [agent.key, token.key] });
  const news = agent.nextNews();
  await decideAs(approverLog, body.clusterId, 'approved', { heartbeat: watchful });
  const { result } = await news;
  if (result.kind !== 'admitted') throw new Error(`not admitted: ${result.kind}`);
  const credentials = { jwt: result.credentials, seed: agent.key.seed };
  const { nc } = await connectWithCredentials(hub, agent.key, credentials);
  onTestFinished(() => nc.close());
  return { clusterId: body.clusterId, nc };
}

/** A member that sends heartbeats as it should for as long as the test runs. */
async function aBystander(): Promise<string> {
  const { clusterId, nc } = await aMember();
  keepSendingHeartbeats(nc, clusterId);
  await nextEvent(clusterId, 'joined');
  return clusterId;
}

async function nextEvent(clusterId: string, type: string): Promise<StoredEvent> {
  const { signal } = new AbortController();
  const filter = `cluster.${clusterId}.*`;
  for await (const event of followEvents(ops, opsLog, { filter, fromSequence: 1, signal }))
    if (event.type === type) return event;
  throw new Error(`no ${type} of ${clusterId}`);
}

const livenessOf = async (id: string) => clusterRecord(await opsLog.read({ kind: 'cluster', id })).liveness;

/** Somebody who has nothing to do with the attack: connects, asks, and has its answer. */
async function somebodyElseJoins(): Promise<string> {
  const token = await declareToken(approverLog, hub.hub.hubId);
  await using agent = await connectWithToken(hub, token);
  const { result } = await agent.request('join', aJoin(token), { signers: [agent.key, token.key] });
  return result.kind === 'refused' ? result.code : result.kind;
}

/** Every event about a cluster, by type; or only what the heartbeat service says of it. */
async function eventsOf(clusterId: string, writer?: 'heartbeat'): Promise<string[]> {
  const types: string[] = [];
  for await (const { type, definition } of opsLog.scan({ filter: `cluster.${clusterId}.*` }))
    if (writer === undefined || definition.writer === writer) types.push(type);
  return types;
}

/** Between two round trips, so that this process still has time for the others in it. */
const burst = 100;

/** Runs until it is stopped, and lets the connection breathe: what one client can send at most. */
function keepSending(agent: Pick<RawAgent, 'nc'>, publish: () => void): () => Promise<number> {
  const stop = new AbortController();
  let sent = 0;
  const flood = (async () => {
    while (!stop.signal.aborted && !agent.nc.isClosed()) {
      for (let at = 0; at < burst; at++) publish();
      sent += burst;
      await agent.nc.flush();
    }
  })();
  return async () => {
    stop.abort();
    await flood;
    return sent;
  };
}

test('one agent that asks as fast as it can gets one request, and others join meanwhile', async () => {
  const token = await declareToken(approverLog, hub.hub.hubId, { uses: 'unlimited' });
  await using flooder = await connectWithToken(hub, token);
  const body = aJoin(token);
  const content = { v: 1, hub: hub.hub.hubId, verb: 'join', id: freshId(), atMs: Date.now(), body };
  const message = JSON.stringify(signMessage(content, [flooder.key, token.key]));
  const stop = keepSending(flooder, () =>
    flooder.nc.publish(`rollcall.request.${flooder.key.publicKey}.join`, message),
  );
  for (let round = 0; round < 5; round++) expect(await somebodyElseJoins()).toBe('waiting');
  expect(await stop()).toBeGreaterThan(1000);
  expect(await eventsOf(body.clusterId)).toEqual(['requested']);
});

test('garbage at the highest rate becomes no event, and others join meanwhile', async () => {
  const token = await declareToken(approverLog, hub.hub.hubId, { uses: 'unlimited' });
  await using flooder = await connectWithToken(hub, token);
  const before = await approverLog.read({ kind: 'cluster', id: 'garbage' });
  const deep = `{"signed":"${'x'.repeat(50_000)}","signatures":${'['.repeat(5000)}`;
  const stop = keepSending(flooder, () =>
    flooder.nc.publish(`rollcall.request.${flooder.key.publicKey}.join`, deep),
  );
  expect(await somebodyElseJoins()).toBe('waiting');
  expect(await stop()).toBeGreaterThan(100);
  expect(before.head).toBeUndefined();
});

test('a hundred agents of one token leave room for the agents of another', async () => {
  const token = await declareToken(approverLog, hub.hub.hubId, { uses: 'unlimited' });
  const agents: RawAgent[] = [];
  await inBatches(100, 20, async () => agents.push(await connectWithToken(hub, token)));
  onTestFinished(() => Promise.all(agents.map((agent) => agent.nc.close())).then(() => undefined));
  const answers = agents.flatMap((agent) => {
    const body = aJoin(token);
    return Array.from({ length: 3 }, () => agent.request('join', body, { signers: [agent.key, token.key] }));
  });
  expect(await somebodyElseJoins()).toBe('waiting');
  const kinds = (await Promise.all(answers)).map(({ result }) => result.kind);
  expect(new Set(kinds)).toEqual(new Set(['waiting']));
});

test('a flood of heartbeats is reported once with its numbers, and no one else is silent for it', async () => {
  await startHeartbeat(hub, { floodWindow: '1s' });
  const bystander = await aBystander();
  const flooder = await aMember();
  const heartbeat = encodeHeartbeat({ flags: 0, agentTimeMs: 0 });
  const stop = keepSending(flooder, () =>
    flooder.nc.publish(`rollcall.heartbeat.${flooder.clusterId}`, heartbeat),
  );
  await nextEvent(flooder.clusterId, 'joined');
  const flooding = await nextEvent(flooder.clusterId, 'flooding');
  const { heartbeats, seconds } = (await livenessOf(flooder.clusterId))?.flood ?? {
    heartbeats: 0,
    seconds: 1,
  };
  expect(heartbeats / seconds).toBeGreaterThan(20);
  expect(flooding).toMatchObject({ reason: 'Flooding', by: { service: 'heartbeat' } });
  expect(await somebodyElseJoins()).toBe('waiting');
  // Another member comes and goes while the flood goes on: time enough for a second report.
  const late = await aMember();
  const stopHeartbeats = keepSendingHeartbeats(late.nc, late.clusterId);
  await nextEvent(late.clusterId, 'joined');
  stopHeartbeats();
  await late.nc.close();
  await nextEvent(late.clusterId, 'suspect');
  await stop();
  expect(await eventsOf(flooder.clusterId, 'heartbeat')).toEqual(['joined', 'flooding']);
  expect((await livenessOf(flooder.clusterId))?.state).toBe('ready');
  expect(await eventsOf(bystander, 'heartbeat')).toEqual(['joined']);
});

test('heartbeats of what is no member change nothing', async () => {
  const service = await startHeartbeat(hub);
  const ghost = hub.agentCredentials('member', 'ghost');
  await using agent = await connectWithCredentials(hub, nkeyFromSeed(ghost.seed), ghost);
  const heartbeat = encodeHeartbeat({ flags: 0, agentTimeMs: 0 });
  for (let at = 0; at < 10_000; at++) agent.nc.publish('rollcall.heartbeat.ghost', heartbeat);
  await agent.nc.flush();
  const bystander = await aBystander();
  expect(await eventsOf('ghost')).toEqual([]);
  expect((await livenessOf(bystander))?.state).toBe('ready');
  expect(service.notReady()).toBeUndefined();
});

/** A connection that speaks TLS and then nothing: the server closes it when its patience ends. */
async function openSilent(): Promise<Socket> {
  const socket = connectTls({ host: '127.0.0.1', port: hub.port, ca: hub.address.caPem });
  socket.on('error', () => undefined);
  await once(socket, 'secureConnect');
  return socket;
}

/** One that does not even begin with TLS. */
async function openMute(): Promise<Socket> {
  const socket = connectTcp({ host: '127.0.0.1', port: hub.port });
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  return socket;
}

const inBatches = async (count: number, size: number, open: () => Promise<unknown>) => {
  for (let done = 0; done < count; done += size) await Promise.all(Array.from({ length: size }, open));
};

test('who has nothing starts as a user that may do nothing, over the one kind of listener that is on', () => {
  expect(decodeJwt(hub.hub.sentinelJwt)?.nats).toMatchObject({
    pub: { deny: ['>'] },
    sub: { deny: ['>'] },
    allowed_connection_types: ['STANDARD'],
  });
});

test('ten thousand connections without credentials delay nobody and make nobody unreachable', async () => {
  await startHeartbeat(hub);
  const bystander = await aBystander();
  const sockets: Socket[] = [];
  onTestFinished(() => sockets.forEach((socket) => void socket.destroy()));
  const unknown = createRegistrationToken(hub.hub.hubId);
  let refused = 0;
  const attack = Promise.all([
    inBatches(8000, 500, async () => sockets.push(await openMute())),
    inBatches(1000, 50, async () => sockets.push(await openSilent())),
    // From the 200th on each is refused 2 s late.
    inBatches(1000, 200, async () => {
      await expect(connectWithToken(hub, unknown)).rejects.toThrow(/uthorization|imeout/);
      refused++;
    }),
  ]);
  const over = new AbortController();
  void attack.finally(() => over.abort());
  let joins = 0;
  while (!over.signal.aborted || joins === 0) {
    expect(await somebodyElseJoins()).toBe('waiting');
    joins++;
  }
  await attack;
  expect([sockets.length, refused]).toEqual([9000, 1000]);
  expect(joins).toBeGreaterThan(1);
  expect(await eventsOf(bystander, 'heartbeat')).toEqual(['joined']);
  expect((await livenessOf(bystander))?.state).toBe('ready');
});
