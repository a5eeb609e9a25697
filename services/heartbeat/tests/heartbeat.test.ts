import { afterAll, beforeAll, expect, test } from 'vitest';
import { connect, headers } from '@nats-io/transport-node';
import { heartbeatFlags, connectionOptions, encodeHeartbeat, jwtProof } from '@rollcall/shared/bus';
import { tunnelConnectionName } from '@rollcall/shared/tunnel/subjects';
import { decideAs } from '../../../tests/harness/events.ts';
import { startTestHub, type TestHub } from '../../../tests/harness/test-hub.ts';
import {
  admitMember,
  sendHeartbeat,
  keepSendingHeartbeats,
  liveLines,
  sayGoodbye,
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
/** No deadline of these passes within a test. */
const slow = { intervalSeconds: 60, graceSeconds: 180 };

test('the first heartbeat makes an admitted cluster joined, which is ready, in the trace of its request', async () => {
  await startHeartbeat(hub);
  const member = await admitMember(around, 'joins', slow);
  const live = await liveLines(around.ops, member.clusterId);
  await using nc = await member.connect();
  sendHeartbeat(nc, member.clusterId);
  const joined = await member.event('joined');
  expect(joined).toMatchObject({
    reason: 'Alive',
    correlation: 'request-joins',
    by: { service: 'heartbeat' },
  });
  const { identity, liveness } = await member.record();
  expect(liveness).toMatchObject({ state: 'ready', cause: 'Alive', key: identity?.admittedKey });
  await live.next('ready Alive');
  sendHeartbeat(nc, member.clusterId);
  await nc.flush();
  expect(await member.history()).toEqual(['joined']);
});

test('a member that was admitted before the service started joins too', async () => {
  const member = await admitMember(around, 'early', slow);
  await startHeartbeat(hub);
  await using nc = await member.connect();
  nc.publish(
    `rollcall.heartbeat-partition.3.${member.clusterId}`,
    encodeHeartbeat({ flags: 0, agentTimeMs: 0 }),
  );
  expect((await member.event('joined')).reason).toBe('Alive');
});

test('a killed agent shows at once, is suspect, then unreachable, and ready again when it is back', async () => {
  await startHeartbeat(hub);
  const member = await admitMember(around, 'killed', fast);
  const live = await liveLines(around.ops, member.clusterId);
  const nc = await member.connect();
  keepSendingHeartbeats(nc, member.clusterId);
  await member.event('joined');
  await nc.close();
  await live.next('connection-lost ConnectionLost');
  const suspect = await member.event('suspect');
  expect(suspect.reason).toBe('ConnectionLost');
  const unreachable = await member.event('unreachable');
  expect(unreachable.reason).toBe('Unreachable');
  const { liveness } = await member.record();
  expect(liveness!.sinceMs - liveness!.lastHeartbeatAtMs).toBeGreaterThanOrEqual(3000);
  await using again = await member.connect();
  sendHeartbeat(again, member.clusterId);
  await member.event('ready');
  expect(await member.history()).toEqual(['joined', 'suspect', 'unreachable', 'ready']);
});

test('an agent whose connection is open but silent is suspect because no heartbeats come', async () => {
  await startHeartbeat(hub);
  const member = await admitMember(around, 'frozen', fast);
  await using nc = await member.connect();
  sendHeartbeat(nc, member.clusterId);
  expect((await member.event('suspect')).reason).toBe('NoHeartbeats');
  sendHeartbeat(nc, member.clusterId);
  await member.event('ready');
});

test('a goodbye is stopped, not suspect, and the next heartbeat is ready', async () => {
  await startHeartbeat(hub);
  const member = await admitMember(around, 'polite', slow);
  const live = await liveLines(around.ops, member.clusterId);
  const nc = await member.connect();
  sendHeartbeat(nc, member.clusterId);
  await member.event('joined');
  sayGoodbye(nc, member.clusterId);
  await nc.drain();
  expect((await member.event('stopped')).reason).toBe('AgentStopped');
  await using again = await member.connect();
  sendHeartbeat(again, member.clusterId);
  await member.event('ready');
  expect(await member.history()).toEqual(['joined', 'stopped', 'ready']);
  expect(live.lines).not.toContain('connection-lost ConnectionLost');
});

test('renewing make-before-break, also of a connection older than the service, writes and says nothing', async () => {
  const member = await admitMember(around, 'renews', slow);
  const other = await admitMember(around, 'renews-other', slow);
  const first = await member.connect();
  await startHeartbeat(hub, { suspectAfter: '0s' });
  const live = await liveLines(around.ops, member.clusterId);
  sendHeartbeat(first, member.clusterId);
  await member.event('joined');
  const second = await member.connect();
  await first.close();
  await using third = await member.connect();
  await second.close();
  sendHeartbeat(third, member.clusterId);
  // Another cluster that is killed after all this: when its suspicion is written, this one's would be too.
  const otherNc = await other.connect();
  sendHeartbeat(otherNc, other.clusterId);
  await other.event('joined');
  await otherNc.close();
  await other.event('suspect');
  expect(await member.history()).toEqual(['joined']);
  expect(live.lines).not.toContain('connection-lost ConnectionLost');
});

test('two replicas write each transition once', async () => {
  await startHeartbeat(hub);
  await startHeartbeat(hub);
  const members = await Promise.all(
    Array.from({ length: 8 }, (_, index) => admitMember(around, `twice-${index}`, fast)),
  );
  await Promise.all(
    members.map(async (member) => {
      const nc = await member.connect();
      keepSendingHeartbeats(nc, member.clusterId);
      await member.event('joined');
      await nc.close();
      await member.event('unreachable');
      const again = await member.connect();
      sendHeartbeat(again, member.clusterId);
      await member.event('ready');
      sayGoodbye(again, member.clusterId);
      await again.drain();
      await member.event('stopped');
      expect(await member.history()).toEqual(['joined', 'suspect', 'unreachable', 'ready', 'stopped']);
    }),
  );
});

test('garbage, unknown clusters and floods of heartbeats write nothing and stop nobody', async () => {
  const service = await startHeartbeat(hub, { healthPort: '0' });
  const known = await admitMember(around, 'good', slow);
  // Credentials of a cluster that has no record: as after it was forgotten.
  const stray = hub.agentCredentials('member', 'stray');
  await using nc = await connect({
    ...connectionOptions(hub.address, 'agent'),
    authenticator: jwtProof(stray),
  });
  for (let one = 0; one < 2000; one++) sendHeartbeat(nc, 'stray');
  nc.publish('rollcall.heartbeat.stray', 'garbage');
  await nc.flush();
  await using good = await known.connect();
  good.publish(`rollcall.heartbeat.${known.clusterId}`, new Uint8Array(10_000));
  sendHeartbeat(good, known.clusterId);
  await known.event('joined');
  expect((await around.opsLog.read({ kind: 'cluster', id: 'stray' })).head).toBeUndefined();
  expect(service.notReady()).toBeUndefined();
});

test.each([
  { what: 'garbage', body: new Uint8Array(3), count: 500 },
  { what: 'a few large messages', body: new Uint8Array(60_000), count: 10 },
  {
    what: 'heartbeats with large headers',
    body: encodeHeartbeat({ flags: 0, agentTimeMs: 1 }),
    count: 10,
    header: 60_000,
  },
])('a flood of $what is one, as a flood of heartbeats is', async ({ what, body, count, header }) => {
  await startHeartbeat(hub, { floodRate: '5', floodWindow: '1s' });
  const member = await admitMember(around, `flood-of-${what.replaceAll(' ', '-')}`, slow);
  await using nc = await member.connect();
  sendHeartbeat(nc, member.clusterId);
  await member.event('joined');
  const large = headers();
  if (header) large.set('x', 'x'.repeat(header));
  for (let one = 0; one < count; one++)
    nc.publish(`rollcall.heartbeat.${member.clusterId}`, body, header ? { headers: large } : {});
  expect((await member.event('flooding')).reason).toBeDefined();
});

test('more connections than any agent has are a flood, whatever they are called', async () => {
  await startHeartbeat(hub, { floodWindow: '1s' });
  const member = await admitMember(around, 'crowd', slow);
  await using nc = await member.connect();
  sendHeartbeat(nc, member.clusterId);
  await member.event('joined');
  await using stack = new AsyncDisposableStack();
  for (let one = 0; one < 64; one++) stack.use(await member.connect(tunnelConnectionName));
  const { section, message } = await member.event('flooding');
  expect(section).toMatchObject({ state: 'ready', flood: { connections: 65 } });
  expect(message).toContain('65 connections at once');
});

test('who floods with garbage and never heartbeats is told of, and joins by its first heartbeat', async () => {
  await startHeartbeat(hub, { floodRate: '5', floodWindow: '1s' });
  const member = await admitMember(around, 'garbage-alone', slow);
  await using nc = await member.connect();
  // Its admission may be heard after them: who floods goes on.
  const flood = setInterval(
    () => nc.publish(`rollcall.heartbeat.${member.clusterId}`, new Uint8Array(60_000)),
    20,
  );
  try {
    await member.event('flooding');
  } finally {
    clearInterval(flood);
  }
  sendHeartbeat(nc, member.clusterId);
  await member.event('joined');
  expect(await member.history()).toEqual(['flooding', 'joined']);
});

test('a denied cluster is forgotten: its heartbeats change nothing', async () => {
  await startHeartbeat(hub);
  const member = await admitMember(around, 'denied', slow);
  const witness = await admitMember(around, 'denied-witness', slow);
  await using nc = await member.connect();
  sendHeartbeat(nc, member.clusterId);
  await member.event('joined');
  await decideAs(around.approverLog, member.clusterId, 'denied');
  sayGoodbye(nc, member.clusterId);
  await nc.flush();
  await using other = await witness.connect();
  sendHeartbeat(other, witness.clusterId);
  await witness.event('joined');
  expect(await member.history()).toEqual(['joined']);
});

test('two agents with one key: KeyInUseTwice once, no flapping, and over when one of them is gone', async () => {
  await startHeartbeat(hub);
  const member = await admitMember(around, 'cloned', fast);
  await using original = await member.connect();
  await using copy = await member.connect();
  const everySecond = (nc: typeof copy) => setInterval(() => sendHeartbeat(nc, member.clusterId), 1000);
  const timers = [everySecond(original), everySecond(copy)];
  sendHeartbeat(original, member.clusterId);
  try {
    const shared = await member.event('key-shared');
    expect(shared.reason).toBe('KeyInUseTwice');
    expect((await member.record()).liveness?.keySharedSinceMs).toBeGreaterThan(0);
    clearInterval(timers[1]);
    sayGoodbye(copy, member.clusterId);
    await copy.flush();
    await member.event('key-unshared');
  } finally {
    timers.forEach(clearInterval);
  }
  expect((await member.record()).liveness).not.toHaveProperty('keySharedSinceMs');
  expect(await member.history()).toEqual(['joined', 'key-shared', 'key-unshared']);
});

test('an API server that does not answer its agent is told, and that it does again [X-4]', async () => {
  await startHeartbeat(hub);
  const member = await admitMember(around, 'member-down', slow);
  await using nc = await member.connect();
  sendHeartbeat(nc, member.clusterId);
  await member.event('joined');
  sendHeartbeat(nc, member.clusterId, heartbeatFlags.memberApiDown);
  expect((await member.event('member-down')).reason).toBe('MemberAPIDown');
  sendHeartbeat(nc, member.clusterId);
  expect((await member.event('ready')).reason).toBe('Alive');
});

test('who is lost too often flaps: no more events until it is steady, of two replicas too [KA-9]', async () => {
  const settings = { flapLosses: '2', flapSteady: '3s', suspectAfter: '0s' };
  await startHeartbeat(hub, settings);
  await startHeartbeat(hub, settings);
  const member = await admitMember(around, 'flaps', fast);
  const loseOnce = async (): Promise<void> => {
    const nc = await member.connect();
    sendHeartbeat(nc, member.clusterId);
    await nc.drain();
  };
  await loseOnce();
  const first = await member.event('suspect');
  await loseOnce();
  const second = await member.event('suspect', first.sequence + 1);
  await loseOnce();
  const flapping = await member.event('flapping', second.sequence);
  expect(flapping.reason).toBe('Flapping');
  await loseOnce();
  await using nc = await member.connect();
  keepSendingHeartbeats(nc, member.clusterId);
  await member.event('ready', flapping.sequence);
  expect(await member.history()).toEqual(['joined', 'suspect', 'ready', 'suspect', 'flapping', 'ready']);
});

test('who says goodbye and is heard in turns flaps: no event for each of them', async () => {
  await startHeartbeat(hub, { flapLosses: '2', flapSteady: '3s' });
  const member = await admitMember(around, 'says-goodbye', slow);
  await using nc = await member.connect();
  const stopOnce = async (afterSequence?: number) => {
    sayGoodbye(nc, member.clusterId);
    return member.event('stopped', afterSequence);
  };
  sendHeartbeat(nc, member.clusterId);
  await member.event('joined');
  const first = await stopOnce();
  sendHeartbeat(nc, member.clusterId);
  const back = await member.event('ready', first.sequence);
  const second = await stopOnce(back.sequence);
  sendHeartbeat(nc, member.clusterId);
  const flapping = await member.event('flapping', second.sequence);
  for (let time = 0; time < 10; time++) {
    sayGoodbye(nc, member.clusterId);
    sendHeartbeat(nc, member.clusterId);
    await nc.flush();
  }
  await member.event('ready', flapping.sequence);
  expect(await member.history()).toEqual(['joined', 'stopped', 'ready', 'stopped', 'flapping', 'ready']);
});
