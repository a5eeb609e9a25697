import { encodeHeartbeat } from '@rollcall/shared/bus';
import { agentsAccountClaims } from '@rollcall/shared/rights';
import type { RunningService } from '@rollcall/shared/service';
import { expect, test } from 'vitest';
import { startHubOfTest } from '../../../tests/harness/hub-of-test.ts';
import { isInPartition } from '../members/heartbeat-partition.ts';
import {
  admitMember,
  keepSendingHeartbeats,
  pushClaims,
  startHeartbeat,
  surroundingsOf,
} from './test-member.ts';

test.each([
  { what: 'heartbeats', body: encodeHeartbeat({ flags: 0, agentTimeMs: 1 }) },
  { what: 'garbage', body: new Uint8Array(3) },
])('who floods with $what where another part of the fleet is heard is told of', async ({ what, body }) => {
  const hub = await startHubOfTest();
  const around = await surroundingsOf(hub);
  const settings = { floodRate: '5', floodWindow: '1s' };
  await startHeartbeat(hub, { ...settings, heartbeatPartition: '0/2' });
  await startHeartbeat(hub, { ...settings, heartbeatPartition: '1/2' });
  const clusterId = `flood-of-${what}`;
  const other = [0, 1].find((number) => !isInPartition({ number, count: 2 }, clusterId));
  const member = await admitMember(around, clusterId, { intervalSeconds: 60, graceSeconds: 300 });
  await using nc = await member.connect();
  nc.publish(`rollcall.heartbeat.${clusterId}`, encodeHeartbeat({ flags: 0, agentTimeMs: 1 }));
  await member.event('joined');
  for (let one = 0; one < 500; one++) nc.publish(`rollcall.heartbeat-partition.${other}.${clusterId}`, body);
  await member.event('flooding');
  expect(await member.history()).toEqual(['joined', 'flooding']);
});

test('two parts: each cluster is heard by one of them, which says when it is gone', async () => {
  const hub = await startHubOfTest();
  // As the account-controller does once `heartbeatPartitions` is set: the server spreads heartbeats.
  await pushClaims(hub, {
    account: 'AGENTS',
    nats: agentsAccountClaims({ ...hub.hub.keys, heartbeatPartitions: 2 }, {}),
  });
  const around = await surroundingsOf(hub);
  const parts = await Promise.all(
    ['0/2', '1/2'].map((heartbeatPartition) => startHeartbeat(hub, { heartbeatPartition, healthPort: '0' })),
  );
  const readyIn = async ({ healthPort }: RunningService) => {
    const text = await (await fetch(`http://127.0.0.1:${healthPort}/metrics`)).text();
    return Number(/^rollcall_liveness_clusters\{part="[01]",of="2",state="ready"\} (\d+)$/m.exec(text)?.[1]);
  };
  const ids = Array.from({ length: 8 }, (_, index) => `part-${index}`);
  const members = await Promise.all(
    ids.map((id) => admitMember(around, id, { intervalSeconds: 1, graceSeconds: 3 })),
  );
  const connections = await Promise.all(
    members.map(async (member) => {
      const nc = await member.connect();
      keepSendingHeartbeats(nc, member.clusterId);
      await member.event('joined');
      return nc;
    }),
  );
  const sizes = [0, 1].map((number) => ids.filter((id) => isInPartition({ number, count: 2 }, id)).length);
  expect(Math.min(...sizes)).toBeGreaterThan(0);
  await expect.poll(() => Promise.all(parts.map(readyIn))).toEqual(sizes);
  // Longer than the grace: who is gone is called so, by the one that heard it, and the others are not.
  await connections[0]?.close();
  await members[0]?.event('unreachable');
  expect(await members[0]?.history()).toEqual(['joined', 'suspect', 'unreachable']);
  for (const member of members.slice(1)) expect(await member.history()).toEqual(['joined']);
  await Promise.all(connections.map((nc) => nc.close()));
});
