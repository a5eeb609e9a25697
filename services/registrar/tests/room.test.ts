import { randomUUID } from 'node:crypto';
import { jetstreamManager } from '@nats-io/jetstream';
import type { EventLog } from '@rollcall/shared/bus';
import { loadConfig } from '@rollcall/shared/config';
import { clusterRecord } from '@rollcall/shared/events';
import type { RegistrationToken } from '@rollcall/shared/trust';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { askServices, figureOf } from '../../../cli/status/ask-services.ts';
import { until } from '../../../tests/harness/embedded.ts';
import { decideAs, declareToken } from '../../../tests/harness/events.ts';
import { connectWithToken, type RawAgent } from '../../../tests/harness/raw-agent.ts';
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
  /** Asks to join and gives the kind of the answer, or the code of the refusal. */
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
      const { result } = await agent.ask('join', body, { signers: [agent.key, token.key] });
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

/** As `rollcall status` hears it. */
async function usedPercent(): Promise<number> {
  const answers = await askServices(await ops);
  return figureOf(answers, 'registrar', 'eventsUsedPercent') ?? -1;
}

test('at 85 % of the disk new requests are refused, members and those who wait go on, and it ends by itself', async () => {
  await startRegistrar({ spaceInterval: '1s' });
  const token = await declareToken(approverLog, hub.hub.hubId, { uses: 'unlimited' });
  const before = await anAgent(token);
  expect(await before.join()).toBe('waiting');
  const jsm = await jetstreamManager(await hub.connectAs('setup'));
  const { state } = await jsm.streams.info('EVENTS');
  await jsm.streams.update('EVENTS', { max_bytes: Math.floor(state.bytes / 0.9) });
  const refused = await anAgent(token);
  await until('the registrar has seen it', async () => (await usedPercent()) >= 85);
  expect(await refused.join()).toBe('HUB_FULL');
  expect(await identityOf(refused.clusterId)).toBeUndefined();
  expect(await before.join()).toBe('waiting');
  await jsm.streams.update('EVENTS', { max_bytes: -1 });
  await until('there is room again', async () => (await usedPercent()) < 85);
  expect(await refused.join()).toBe('waiting');
});
