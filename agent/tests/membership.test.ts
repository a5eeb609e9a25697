import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { NatsConnection } from '@nats-io/transport-node';
import { heartbeatFlags, heartbeatFlagsOf, type EventLog, followEvents } from '@rollcall/shared/bus';
import { loadConfig } from '@rollcall/shared/config';
import { clusterRecord } from '@rollcall/shared/events';
import type { RunningService } from '@rollcall/shared/service';
import { createRegistrationToken, spkiPin } from '@rollcall/shared/trust';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { configSchema, start } from '../../services/registrar/main.ts';
import { decideAs, declareToken } from '../../tests/harness/events.ts';
import { startTestHub, type TestHub } from '../../tests/harness/test-hub.ts';
import { startAgent } from './agent-under-test.ts';

let hub: TestHub;
let registrar: RunningService;
let approverLog: EventLog;
let heartbeats: Heartbeats;
/** Short-lived, so that renewals happen while a test looks on. */
const memberLife = '6s';

interface Heartbeats {
  /** The next heartbeat of that cluster from now on whose flags fit. */
  next(clusterId: string, fits?: (flags: number) => boolean): Promise<void>;
}

function hearHeartbeats(nc: NatsConnection): Heartbeats {
  const waiting = new Set<{ clusterId: string; fits: (flags: number) => boolean; resolve: () => void }>();
  nc.subscribe('rollcall.heartbeat.*', {
    callback: (_error, message) => {
      const clusterId = message.subject.split('.')[2];
      for (const one of waiting) {
        if (one.clusterId !== clusterId || !one.fits(heartbeatFlagsOf(message.data))) continue;
        waiting.delete(one);
        one.resolve();
      }
    },
  });
  return {
    next: (clusterId, fits = () => true) =>
      new Promise((resolve) => void waiting.add({ clusterId, fits, resolve })),
  };
}

/** Clusters that a test decides about by itself. */
const decidesByTest = new Set<string>();
const ended = new AbortController();

/** Approves every other request once it is kept. */
async function approveAll(nc: NatsConnection): Promise<void> {
  const follow = { filter: 'cluster.*.requested', fromSequence: 1, signal: ended.signal };
  for await (const { id } of followEvents(nc, approverLog, follow)) {
    if (!decidesByTest.has(id)) await decideAs(approverLog, id, 'approved');
  }
}

beforeAll(async () => {
  hub = await startTestHub();
  const values = { ...hub.serviceSettings('registrar'), memberLife };
  registrar = await start(loadConfig(configSchema, { flags: {}, environment: {}, values }));
  approverLog = await hub.openLog('approver');
  heartbeats = hearHeartbeats(await hub.connectAs('heartbeat'));
  void approveAll(await hub.connectAs('approver'));
});
afterAll(async () => {
  ended.abort();
  await registrar.stop();
  await hub[Symbol.asyncDispose]();
});

const aToken = async (
  ...more: Parameters<typeof declareToken> extends [unknown, unknown, ...infer Rest] ? Rest : never
) => (await declareToken(approverLog, hub.hub.hubId, ...more)).text;

test('from a token to the first heartbeat; the hub is found by its pin; the token is not kept [FL-6]', async () => {
  const token = await aToken();
  const firstHeartbeat = heartbeats.next('member-1');
  await using one = await startAgent(hub, {
    token,
    clientId: 'member-1',
    clusterName: 'first',
    trust: { pins: [spkiPin(hub.address.caPem)] },
  });
  expect(await one.agent.admitted()).toEqual({
    clusterId: 'member-1',
    clusterName: 'first',
    namespace: 'first',
  });
  await one.heard.next(({ phase }) => phase === 'ready');
  await firstHeartbeat;
  const seen = one.heard.events.map(({ phase }) => phase).filter((phase) => phase !== 'member');
  expect([...new Set(seen)]).toEqual(['preflight', 'connect', 'register', 'waiting', 'approve', 'ready']);
  const record = clusterRecord(await approverLog.read({ kind: 'cluster', id: 'member-1' }));
  expect(record.identity).toMatchObject({ state: 'admitted', clusterName: 'first' });
  const kept = readFileSync(join(one.directory, 'agent-state'), 'utf8');
  expect(kept).not.toContain(token.split('.')[2]);
});

test('credentials are renewed make-before-break, over and over, without a gap in the connection [KA-8]', async () => {
  await using one = await startAgent(hub, { token: await aToken(), clientId: 'renewing' });
  await one.agent.admitted();
  for (let renewals = 0; renewals < 2; renewals++) {
    await one.heard.next(({ phase }) => phase === 'renew');
    await heartbeats.next('renewing');
  }
  expect(one.heard.events.filter(({ phase }) => phase === 'connect')).toHaveLength(1);
});

test('a member that restarts needs no token and no approval, and says goodbye before', async () => {
  await using one = await startAgent(hub, { token: await aToken(), clientId: 'restarting' });
  await one.agent.admitted();
  const before = clusterRecord(await approverLog.read({ kind: 'cluster', id: 'restarting' }));
  const goodbye = heartbeats.next('restarting', (flags) => (flags & heartbeatFlags.goodbye) !== 0);
  await one.agent.stop();
  await goodbye;
  const heartbeat = heartbeats.next('restarting');
  await using two = await one.runAgain();
  await heartbeat;
  await two.agent.admitted();
  const after = clusterRecord(await approverLog.read({ kind: 'cluster', id: 'restarting' }));
  expect(after.head?.sequence).toBe(before.head?.sequence);
});

test('a member without its API server says so in its heartbeats', async () => {
  await using one = await startAgent(hub, { token: await aToken(), clientId: 'headless' });
  const heartbeat = heartbeats.next('headless', (flags) => flags === heartbeatFlags.memberApiDown);
  await one.agent.admitted();
  await expect(heartbeat).resolves.toBeUndefined();
});

test('an agent that is held waits with the reason, and hears the approval at once', async () => {
  decidesByTest.add('held');
  await using one = await startAgent(hub, { token: await aToken(), clientId: 'held' });
  await one.heard.next(({ phase, detail }) => phase === 'waiting' && detail.reason === 'Pending');
  await decideAs(approverLog, 'held', 'approved');
  expect(await one.agent.admitted()).toMatchObject({ clusterId: 'held' });
});

test('labels that the cluster does not get are named where the agent runs, once, with why', async () => {
  decidesByTest.add('labelled');
  const token = await aToken({ allowLabels: ['team'] });
  const labels = { team: 'a', env: 'dev', 'rollcall.dev/registered-by': 'hub' };
  await using one = await startAgent(hub, { token, clientId: 'labelled', labels });
  const said = await one.heard.next(({ message }) => message.includes('does not take'));
  expect(said).toMatchObject({ phase: 'register' });
  expect(said.message).toContain('the labels env, rollcall.dev/registered-by: not allowed by the token');
  await decideAs(approverLog, 'labelled', 'held');
  await one.heard.next(({ phase, detail }) => phase === 'waiting' && detail.reason !== 'Pending');
  await decideAs(approverLog, 'labelled', 'approved');
  await one.agent.admitted();
  expect(one.heard.events.filter(({ message }) => message.includes('does not take'))).toHaveLength(1);
});

test('an agent that waits goes on waiting after a restart, without its token', async () => {
  decidesByTest.add('patient');
  await using one = await startAgent(hub, { token: await aToken(), clientId: 'patient' });
  await one.heard.next(({ phase }) => phase === 'waiting');
  await using two = await one.runAgain();
  await two.heard.next(({ phase, message }) => phase === 'connect' && message.includes('waiting'));
  await two.heard.next(({ phase }) => phase === 'waiting');
  await decideAs(approverLog, 'patient', 'approved');
  expect(await two.agent.admitted()).toMatchObject({ clusterId: 'patient' });
});

test('a denied agent says why, and is let in when that changes', async () => {
  decidesByTest.add('denied');
  await using one = await startAgent(hub, { token: await aToken(), clientId: 'denied' });
  await one.heard.next(({ phase }) => phase === 'waiting');
  await decideAs(approverLog, 'denied', 'denied', { reason: 'NotOurs', message: 'not one of ours' });
  const refused = await one.heard.next(({ phase }) => phase === 'refused');
  expect(refused).toMatchObject({
    message: expect.stringContaining('not one of ours'),
    detail: { code: 'CLUSTER_DENIED' },
  });
  await decideAs(approverLog, 'denied', 'approved');
  expect(await one.agent.admitted()).toMatchObject({ clusterId: 'denied' });
});

test.each([
  {
    name: 'an unknown token',
    make: () => Promise.resolve(createRegistrationToken(hub.hub.hubId).text),
    want: 'TOKEN_UNKNOWN',
  },
  { name: 'an expired token', make: () => aToken({ expiresAtMs: 1 }), want: 'TOKEN_EXPIRED' },
  {
    name: 'a token for another name',
    make: () => aToken({ clusterName: 'other-*' }),
    want: 'TOKEN_NAME_MISMATCH',
  },
])('$name is shown as $want, and the agent asks again', async ({ make, want }) => {
  await using one = await startAgent(hub, {
    token: await make(),
    clientId: `refused-${want.toLowerCase().replaceAll('_', '-')}`,
  });
  for (let times = 0; times < 2; times++) {
    const { detail } = await one.heard.next(({ phase }) => phase === 'refused');
    expect(detail).toMatchObject({ code: want, hint: expect.any(String), retryInMs: expect.any(Number) });
  }
});

test('a wrong CA is shown as such', async () => {
  const trust = { pins: [`sha256:${'0'.repeat(64)}`] };
  await using one = await startAgent(hub, { token: await aToken(), clientId: 'misled', trust });
  const { detail } = await one.heard.next(({ phase }) => phase === 'connect');
  expect(detail.code).toBe('HUB_CA_WRONG');
});

test('a token of another hub does not get the keys of this one', async () => {
  await using one = await startAgent(hub, { token: await aToken(), clientId: 'loyal' });
  await one.agent.admitted();
  const token = createRegistrationToken('0000000000000000').text;
  await expect(one.runAgain({ token })).rejects.toMatchObject({ code: 'AGENT_STATE_OTHER' });
});

test('a member whose credentials ended while it slept comes back with its key [FL-6, X-7]', async () => {
  await using one = await startAgent(hub, { token: await aToken(), clientId: 'sleeper' });
  await one.agent.admitted();
  const { key } = await stateOf(one.directory);
  await one.agent.stop();
  await key.expire();
  const heartbeat = heartbeats.next('sleeper');
  await using two = await one.runAgain();
  await two.heard.next(({ phase, message }) => phase === 'connect' && message.includes('returning'));
  await heartbeat;
  expect(await two.agent.admitted()).toMatchObject({ clusterId: 'sleeper' });
});

async function stateOf(directory: string) {
  const { directoryKeyStore } = await import('../keys/key-store-directory.ts');
  const store = directoryKeyStore(directory);
  return {
    key: {
      async expire() {
        const state = await store.load();
        if (!state?.member) throw new Error('no member');
        const { jwt } = hub.agentCredentials('member', 'sleeper', { seed: state.seed, lifeMs: -3_600_000 });
        await store.save({ ...state, member: { ...state.member, jwt, workedJwt: jwt } });
      },
    },
  };
}

test('members come back by themselves after the server was killed, as often as that happens', async () => {
  await using one = await startAgent(hub, { token: await aToken(), clientId: 'survivor' });
  await one.agent.admitted();
  for (let times = 0; times < 2; times++) {
    await hub.natsServer.kill();
    await one.heard.next(({ detail }) => detail.code === 'HUB_UNREACHABLE');
    await hub.natsServer.restart();
    const back = await one.heard.next(
      ({ phase, detail }) => phase === 'connect' && detail.code === undefined,
    );
    expect(back.message).toContain('member');
  }
});
