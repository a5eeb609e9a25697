import { expect, test } from 'vitest';
import { startHubOfTest } from '../../../tests/harness/hub-of-test.ts';
import { admitMember, sendHeartbeat, startHeartbeat, surroundingsOf } from './test-member.ts';

test('a fleet past the ceiling gets longer intervals, once, and is judged by them', async () => {
  const hub = await startHubOfTest();
  const around = await surroundingsOf(hub);
  const members = await Promise.all(
    ['a', 'b', 'c', 'd'].map((id) =>
      admitMember(around, `interval-${id}`, { intervalSeconds: 1, graceSeconds: 3 }),
    ),
  );
  const first = await startHeartbeat(hub);
  const connections = await Promise.all(
    members.map(async (member) => {
      const nc = await member.connect();
      sendHeartbeat(nc, member.clusterId);
      await member.event('joined');
      return nc;
    }),
  );
  await first.stop();
  // Four heartbeats a second, and one is taken.
  const settings = { heartbeatsPerSecond: '1', healthPort: '0' };
  const startedAtMs = Date.now();
  const replicas = [await startHeartbeat(hub, settings), await startHeartbeat(hub, settings)];
  const { newest } = await around.opsLog.read({ kind: 'hub', id: 'interval' });
  expect(newest).toMatchObject({
    reason: 'IntervalsLengthened',
    section: { multiplier: 4, before: 1, nominalPerSecond: 4, ceilingPerSecond: 1 },
  });
  for (const { healthPort } of replicas) {
    const metrics = await (await fetch(`http://127.0.0.1:${healthPort}/metrics`)).text();
    expect(metrics).toContain('rollcall_heartbeat_interval_multiplier 4');
  }
  // Overdue after two intervals of four seconds.
  const suspect = await members[0]?.event('suspect');
  expect((suspect?.timeMs ?? 0) - startedAtMs).toBeGreaterThanOrEqual(7000);
  const types: string[] = [];
  for await (const event of around.opsLog.scan({ filter: 'hub.interval.*' })) types.push(event.type);
  expect(types).toEqual(['interval-changed']);
  await Promise.all(connections.map((nc) => nc.close()));
});
