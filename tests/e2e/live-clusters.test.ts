import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runCli } from '../../cli/tests/run-cli.ts';
import { isInPartition } from '../../services/heartbeat/members/heartbeat-partition.ts';
import {
  admitMember,
  keepSendingHeartbeats,
  startHeartbeat,
  surroundingsOf,
} from '../../services/heartbeat/tests/test-member.ts';
import { startTestHub, type TestHub } from '../harness/test-hub.ts';

/** `rollcall get clusters --live`: what the heartbeat services hear, put together from all of them. */
let hub: TestHub;
let flags: string[];
beforeAll(async () => {
  hub = await startTestHub();
  const caFile = join(hub.stateDir, 'ca.pem');
  writeFileSync(caFile, hub.address.caPem);
  const creds = join(hub.stateDir, 'inspector.creds');
  flags = ['--server', `127.0.0.1:${hub.port}`, '--ca-file', caFile, '--creds', creds];
});
afterAll(() => hub[Symbol.asyncDispose]());

const live = (...args: string[]) => runCli(['get', 'clusters', ...args, '--live', ...flags]);

test('without a heartbeat service it says that nobody answers', async () => {
  const { code, stderr } = await live();
  expect(stderr).toContain('no heartbeat service answers');
  expect(code).toBe(5);
});

test('every member is shown once, whichever replicas hear it, and what nobody hears is told', async () => {
  const around = await surroundingsOf(hub);
  // Nobody maps heartbeats here, so all of them hear all heartbeats; each counts its own part of the fleet, and two the same.
  const half = await startHeartbeat(hub, { heartbeatPartition: '0/2' });
  const ids = Array.from({ length: 6 }, (_, index) => `live-${index}`);
  const members = await Promise.all(
    ids.map((id) => admitMember(around, id, { intervalSeconds: 1, graceSeconds: 3 })),
  );
  const first = members.filter(({ clusterId }) => isInPartition({ number: 0, count: 2 }, clusterId));
  expect(first.length).toBeGreaterThan(0);
  expect(first.length).toBeLessThan(6);
  await Promise.all(
    first.map(async (member) => {
      keepSendingHeartbeats(await member.connect(), member.clusterId);
      await member.event('joined');
    }),
  );
  const alone = await live('-o', 'name');
  expect(alone.stdout.trim().split('\n')).toEqual(first.map(({ clusterId }) => clusterId));
  expect(alone.stderr).toContain('part 1/2 of the fleet: no heartbeat service answers for it');

  const rest = await Promise.all([
    startHeartbeat(hub, { heartbeatPartition: '1/2' }),
    startHeartbeat(hub, { heartbeatPartition: '1/2' }),
  ]);
  const all = await live('-o', 'json');
  expect(all.stderr).not.toContain('no heartbeat service');
  const entries = all.stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { clusterId: string; state: string; lastHeartbeat?: string });
  expect(entries.map(({ clusterId }) => clusterId)).toEqual(ids);
  for (const { clusterId, state, lastHeartbeat } of entries) {
    const heartbeats = first.some((member) => member.clusterId === clusterId);
    expect([clusterId, state, lastHeartbeat !== undefined]).toEqual([
      clusterId,
      heartbeats ? 'ready' : 'neverSeen',
      heartbeats,
    ]);
  }
  const { stdout } = await live(ids[0] ?? '');
  expect(stdout).toMatch(/^NAME +STATE +LAST-HEARTBEAT +SERVER\nlive-0 +\w+ /);
  expect((await live('nobody')).code).toBe(1);
  expect((await live('--watch')).code).toBe(2);
  await Promise.all([half, ...rest].map((service) => service.stop()));
});
