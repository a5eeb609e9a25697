import { followEvents } from '@rollcall/shared/bus';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestHub, type TestHub } from '../../../tests/harness/test-hub.ts';
import { admitMember, sendHeartbeat, startHeartbeat, surroundingsOf } from './test-member.ts';

let hub: TestHub;
beforeAll(async () => {
  hub = await startTestHub();
});
afterAll(() => hub[Symbol.asyncDispose]());

test('when most go silent together they are held, one event says so, and those back are never suspect', async () => {
  const around = await surroundingsOf(hub);
  const settings = { outageMinimum: '2', outageShare: '0.3', outageDeadline: '60s' };
  await startHeartbeat(hub, settings);
  await startHeartbeat(hub, settings);
  const slow = { intervalSeconds: 60, graceSeconds: 180 };
  const members = await Promise.all(
    Array.from({ length: 6 }, (_, index) => admitMember(around, `outage-${index}`, slow)),
  );
  const connections = await Promise.all(
    members.map(async (member) => {
      const nc = await member.connect();
      sendHeartbeat(nc, member.clusterId);
      await member.event('joined');
      return nc;
    }),
  );
  const outageEvents = async (type: string) => {
    const stop = new AbortController();
    const options = { filter: 'hub.liveness.*', fromSequence: 1, signal: stop.signal };
    for await (const event of followEvents(around.ops, around.opsLog, options))
      if (event.type === type) return event;
    throw new Error(`no ${type}`);
  };
  await Promise.all(connections.map((nc) => nc.close()));
  expect((await outageEvents('outage')).reason).toBe('OutageHeld');
  const back = await Promise.all(members.map((member) => member.connect()));
  for (const [index, nc] of back.entries()) sendHeartbeat(nc, members[index]!.clusterId);
  await outageEvents('outage-ended');
  for (const member of members) expect(await member.history()).toEqual(['joined']);
  const types: string[] = [];
  for await (const event of around.opsLog.scan({ filter: 'hub.liveness.*' })) types.push(event.type);
  expect(types).toEqual(['outage', 'outage-ended']);
  await Promise.all(back.map((nc) => nc.close()));
});
