import { afterAll, beforeAll, expect, test } from 'vitest';
import type { NatsConnection } from '@nats-io/transport-node';
import { startTestHub, type TestHub } from '../../../tests/harness/test-hub.ts';
import {
  admitMember,
  sendHeartbeat,
  keepSendingHeartbeats,
  startHeartbeat,
  type Surroundings,
  surroundingsOf,
} from './test-member.ts';

let hub: TestHub;
let around: Surroundings;
beforeAll(async () => {
  hub = await startTestHub();
  around = await surroundingsOf(hub);
});
afterAll(() => hub[Symbol.asyncDispose]());

async function nextReconnect(nc: NatsConnection): Promise<void> {
  for await (const { type } of nc.status()) if (type === 'reconnect') return;
}

const fast = { intervalSeconds: 1, graceSeconds: 3 };

test('a restarted service gives everybody a whole grace, and then finds who is gone', async () => {
  const gone = await admitMember(around, 'gone', fast);
  const alive = await admitMember(around, 'alive', fast);
  await using aliveNc = await alive.connect();
  {
    const first = await startHeartbeat(hub);
    const goneNc = await gone.connect();
    sendHeartbeat(goneNc, gone.clusterId);
    keepSendingHeartbeats(aliveNc, alive.clusterId);
    await Promise.all([gone.event('joined'), alive.event('joined')]);
    await first.stop();
    // It goes while nobody listens.
    await goneNc.close();
  }
  const startedAtMs = Date.now();
  await startHeartbeat(hub);
  const unreachable = await gone.event('unreachable');
  expect(unreachable.timeMs - startedAtMs).toBeGreaterThanOrEqual(3000);
  expect(await gone.history()).toEqual(['joined', 'suspect', 'unreachable']);
  expect(await alive.history()).toEqual(['joined']);
});

test('after the bus was away nobody is declared dead for that time', async () => {
  const member = await admitMember(around, 'outage', fast);
  await startHeartbeat(hub);
  const before = await member.connect();
  sendHeartbeat(before, member.clusterId);
  const joined = await member.event('joined');
  const reconnected = nextReconnect(around.ops);
  await hub.natsServer.kill();
  // The service may be connected again before we are.
  const restartedAtMs = Date.now();
  await hub.natsServer.restart();
  await reconnected;
  const unreachable = await member.event('unreachable', joined.sequence + 1);
  expect(unreachable.timeMs - restartedAtMs).toBeGreaterThanOrEqual(3000);
  await using after = await member.connect();
  sendHeartbeat(after, member.clusterId);
  await member.event('ready');
  // The server, not the agent, ended the connection, and the service was away too: no connection was lost.
  expect((await member.event('suspect')).reason).toBe('NoHeartbeats');
});
