import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { serviceRoles } from '@rollcall/shared/rights';
import { afterAll, beforeAll, expect, test } from 'vitest';
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

const fast = { intervalSeconds: 1, graceSeconds: 3 };

/** Settings of a replica whom the server gives no heartbeats: everything else reaches it. */
function notReceivingSettings(): Record<string, string> {
  const role = serviceRoles.heartbeat;
  const subscribe = role.subscribe.filter((subject) => !subject.startsWith('rollcall.heartbeat'));
  const identity = JSON.parse(
    readFileSync(join(hub.stateDir, 'identities', 'heartbeat.json'), 'utf8'),
  ) as object;
  const identityFile = join(hub.stateDir, 'not-receiving.json');
  const bus = hub.userWith({ ...role, subscribe }, 'heartbeat');
  writeFileSync(identityFile, JSON.stringify({ ...identity, bus }), { mode: 0o600 });
  return { identityFile, healthPort: '0' };
}

test('a replica that does not receive beside one that does: who sends heartbeats stays ready, and who is gone is gone once', async () => {
  await startHeartbeat(hub);
  await startHeartbeat(hub, notReceivingSettings());
  const alive = await admitMember(around, 'heard-by-one', fast);
  await using nc = await alive.connect();
  keepSendingHeartbeats(nc, alive.clusterId);
  await alive.event('joined');
  // Three graces of another one, one after the other: that replica has long found everybody silent.
  for (const name of ['one', 'two', 'three']) {
    const gone = await admitMember(around, `gone-${name}`, fast);
    const link = await gone.connect();
    sendHeartbeat(link, gone.clusterId);
    await gone.event('joined');
    await link.drain();
    await gone.event('unreachable');
    expect(await gone.history()).toEqual(['joined', 'suspect', 'unreachable']);
  }
  expect(await alive.history()).toEqual(['joined']);
});

test('a replica that does not receive, alone, declares nobody silent, says so, and is not ready', async () => {
  const hearing = await startHeartbeat(hub);
  const alive = await admitMember(around, 'heard-by-none', fast);
  await using nc = await alive.connect();
  keepSendingHeartbeats(nc, alive.clusterId);
  await alive.event('joined');
  const silent = await startHeartbeat(hub, notReceivingSettings());
  await hearing.stop();
  const page = async (path: string) => (await fetch(`http://127.0.0.1:${silent.healthPort}${path}`)).text();
  const timesNotReceiving = async () =>
    Number(/^rollcall_liveness_not_receiving_total (\d+)$/m.exec(await page('/metrics'))?.[1] ?? 0);
  // Each time it has found everybody overdue.
  await expect.poll(timesNotReceiving, { timeout: 25_000 }).toBeGreaterThanOrEqual(3);
  expect(await page('/readyz')).toContain('not receiving');
  expect(await alive.history()).toEqual(['joined']);
});
