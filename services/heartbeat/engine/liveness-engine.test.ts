import { heartbeatFlags } from '@rollcall/shared/bus';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { LivenessEngine } from './liveness-engine.ts';
import type { KnownCluster, MemberConnection, ProposedTransition } from './liveness-signals.ts';
import type { OutageWatchSettings } from '../outage/outage-watch.ts';
import type { LivenessState } from '@rollcall/shared/events';

const intervalMs = 15_000;
const graceMs = 45_000;

/** An engine whose proposals are written at once, and a clock that the test turns. */
function aHub(outage: Partial<OutageWatchSettings> = { share: 1, minimum: 1000 }) {
  const history: string[] = [];
  const live: string[] = [];
  const outages: string[] = [];
  const keyUses: string[] = [];
  const proposals: ProposedTransition[] = [];
  const pending: (() => void)[] = [];
  let nowMs = 1000;
  const engine = new LivenessEngine({
    nowMs,
    suspectAfterMs: 2000,
    steadyForMs: 120_000,
    outage: { share: 1, groupShare: 1, minimum: 1, windowMs: 15_000, deadlineMs: 300_000, ...outage },
    output: {
      live: (clusterId, state) => live.push(`${clusterId} ${state}`),
      outage: ({ change, group }) => outages.push(group ? `${change} ${group.kind} ${group.name}` : change),
      keyUse: (clusterId, change) => keyUses.push(`${clusterId} ${change}`),
    },
  });
  engine.proposals.takenBy((proposal) => {
    history.push(`${proposal.clusterId} ${proposal.state}`);
    proposals.push(proposal);
    pending.push(() =>
      engine.proposals.settle(proposal, { state: proposal.state, sinceMs: proposal.decidedAtMs }, nowMs),
    );
  });
  function know(cluster: Pick<KnownCluster, 'clusterId' | 'state'> & Partial<KnownCluster>): void {
    const key = `U-${cluster.clusterId}`;
    engine.put(
      { key, intervalMs, graceMs, sinceMs: -Infinity, lastHeartbeatMs: -Infinity, ...cluster },
      nowMs,
    );
  }
  const settle = () => {
    for (let next = pending.shift(); next; next = pending.shift()) next();
  };
  return {
    engine,
    history,
    live,
    outages,
    keyUses,
    proposals,
    nowMs: () => nowMs,
    put(clusterId: string, state: LivenessState = 'neverSeen', keyShared = false, clusterSet?: string) {
      know({ clusterId, state, keyShared, clusterSet });
    },
    /** With another key than its first. */
    putAs: (key: string, clusterId: string, state: LivenessState = 'neverSeen') =>
      know({ clusterId, key, state }),
    sendHeartbeat(clusterId: string, flags = 0): boolean {
      const known = engine.hear(Buffer.from(clusterId), 0, clusterId.length, flags, nowMs);
      settle();
      return known;
    },
    pass(ms: number) {
      const endMs = nowMs + ms;
      while (nowMs < endMs) {
        nowMs = Math.min(nowMs + 50, endMs);
        engine.advance(nowMs);
        settle();
      }
    },
  };
}

const connectionOf = (clusterId: string, clientId: number): MemberConnection => ({
  clusterId,
  key: `U-${clusterId}`,
  serverId: 'NA',
  serverName: 'hub-1',
  clientId,
});

test('a life: joins, falls silent, is lost, comes back, says goodbye', () => {
  const { put, sendHeartbeat, pass, history } = aHub();
  put('c1');
  expect(sendHeartbeat('c1')).toBe(true);
  for (let one = 0; one < 10; one++) {
    pass(intervalMs);
    sendHeartbeat('c1');
  }
  expect(history).toEqual(['c1 ready']);
  pass(graceMs + 100);
  expect(history).toEqual(['c1 ready', 'c1 suspect', 'c1 unreachable']);
  pass(3_600_000);
  sendHeartbeat('c1');
  sendHeartbeat('c1', heartbeatFlags.goodbye);
  pass(3_600_000);
  expect(history.slice(3)).toEqual(['c1 ready', 'c1 stopped']);
});

test('an unknown cluster is not taken in, and a forgotten one neither', () => {
  const { put, sendHeartbeat, engine, nowMs } = aHub();
  expect(sendHeartbeat('c1')).toBe(false);
  put('c1');
  engine.remove('c1', nowMs());
  expect(sendHeartbeat('c1')).toBe(false);
  expect(engine.snapshot.countOf('neverSeen')).toBe(0);
});

test('the last connection counts, however many there are', () => {
  const { put, sendHeartbeat, pass, engine, live, history, nowMs } = aHub();
  put('c1');
  engine.connected(connectionOf('c1', 1), nowMs());
  sendHeartbeat('c1');
  engine.connected(connectionOf('c1', 2), nowMs());
  engine.connected(connectionOf('c1', 2), nowMs());
  engine.disconnected(connectionOf('c1', 1), nowMs());
  pass(3000);
  expect(live).toEqual([]);
  engine.disconnected(connectionOf('c1', 2), nowMs());
  expect(live).toEqual(['c1 connection-lost']);
  pass(1900);
  engine.connected(connectionOf('c1', 3), nowMs());
  pass(3000);
  expect(live).toEqual(['c1 connection-lost', 'c1 ready']);
  expect(history).toEqual(['c1 ready']);
  engine.disconnected(connectionOf('c1', 3), nowMs());
  pass(2100);
  expect(history).toEqual(['c1 ready', 'c1 suspect']);
});

test('a goodbye that another replica has heard a heartbeat after counts no more', () => {
  const { put, sendHeartbeat, pass, history } = aHub();
  put('c1');
  sendHeartbeat('c1');
  sendHeartbeat('c1', heartbeatFlags.goodbye);
  put('c1', 'ready');
  pass(1000);
  expect(history).toEqual(['c1 ready', 'c1 stopped']);
  sendHeartbeat('c1', heartbeatFlags.goodbye);
  expect(history.slice(2)).toEqual(['c1 stopped']);
});

test('a heartbeat from before does not undo what another replica wrote, whatever its clock says; the next one does', () => {
  const { put, sendHeartbeat, history } = aHub();
  put('c1', 'ready');
  sendHeartbeat('c1');
  put('c1', 'stopped');
  expect(history).toEqual([]);
  sendHeartbeat('c1');
  expect(history).toEqual(['c1 ready']);
});

test('two agents with one key are told once, and while they are nobody flaps; an end is told too', () => {
  const { put, sendHeartbeat, pass, engine, keyUses, history, nowMs } = aHub();
  put('c1');
  engine.connected(connectionOf('c1', 1), nowMs());
  sendHeartbeat('c1');
  engine.connected(connectionOf('c1', 2), nowMs());
  for (let heartbeats = 0; heartbeats < 12; heartbeats++) {
    pass(intervalMs / 2);
    sendHeartbeat('c1');
  }
  expect(keyUses).toEqual(['c1 shared']);
  // One stops before what was told is written.
  sendHeartbeat('c1', heartbeatFlags.goodbye);
  put('c1', 'ready', true);
  engine.disconnected(connectionOf('c1', 2), nowMs());
  for (let heartbeats = 0; heartbeats < 7; heartbeats++) {
    pass(intervalMs);
    sendHeartbeat('c1');
  }
  expect(history).toEqual(['c1 ready']);
  expect(keyUses).toEqual(['c1 shared', 'c1 single']);
});

test('a dead connection beside a live one is no second agent', () => {
  const { put, sendHeartbeat, pass, engine, keyUses, nowMs } = aHub();
  put('c1');
  for (const connection of [1, 2]) engine.connected(connectionOf('c1', connection), nowMs());
  for (let heartbeats = 0; heartbeats < 30; heartbeats++) {
    sendHeartbeat('c1');
    pass(intervalMs);
  }
  expect(keyUses).toEqual([]);
});

test('connections of a replaced key count for nothing', () => {
  const { put, sendHeartbeat, pass, engine, live, nowMs } = aHub();
  put('c1');
  sendHeartbeat('c1');
  engine.connected({ ...connectionOf('c1', 1), key: 'U-old' }, nowMs());
  engine.disconnected({ ...connectionOf('c1', 1), key: 'U-old' }, nowMs());
  pass(5000);
  expect(live).toEqual([]);
});

test('in an outage nobody is called dead: unknown after the grace; who is still silent when most are back has a whole grace', () => {
  const { put, sendHeartbeat, pass, history, outages, nowMs } = aHub({
    share: 0.3,
    minimum: 2,
    windowMs: 15_000,
    deadlineMs: 300_000,
  });
  const ids = Array.from({ length: 10 }, (_, index) => `c${index}`);
  for (const id of ids) {
    put(id);
    sendHeartbeat(id);
  }
  history.length = 0;
  const beganMs = nowMs();
  pass(graceMs - 100);
  expect(outages).toEqual(['begins']);
  expect(history).toEqual([]);
  pass(150_000);
  expect(history.splice(0).toSorted()).toEqual(ids.map((id) => `${id} suspect`));
  for (const id of ids.slice(0, 6)) sendHeartbeat(id);
  pass(100);
  expect(outages).toEqual(['begins', 'ends']);
  const endedMs = nowMs();
  expect(history.splice(0)).toEqual(ids.slice(0, 6).map((id) => `${id} ready`));
  while (history.length === 0) {
    for (const id of ids.slice(0, 6)) sendHeartbeat(id);
    pass(1000);
  }
  expect(nowMs() - endedMs).toBeGreaterThanOrEqual(graceMs - 1000);
  pass(1000);
  expect(history.toSorted()).toEqual(ids.slice(6).map((id) => `${id} unreachable`));
  expect(endedMs - beganMs).toBeLessThan(300_000);
});

test('a set that falls silent together is held, the rest of the fleet is not', () => {
  const { put, sendHeartbeat, pass, history, outages } = aHub({ share: 1, groupShare: 0.5, minimum: 2 });
  const ofSet = Array.from({ length: 5 }, (_, index) => `eu${index}`);
  const others = Array.from({ length: 20 }, (_, index) => `us${index}`);
  for (const id of ofSet) put(id, 'ready', false, 'eu');
  for (const id of others) put(id, 'ready', false, 'us');
  for (const id of [...ofSet, ...others]) sendHeartbeat(id);
  for (let one = 0; one < 2; one++) {
    pass(intervalMs);
    for (const id of others.slice(1)) sendHeartbeat(id);
  }
  pass(100);
  expect(outages).toEqual(['begins set eu']);
  // One of another set is just one that is gone.
  expect(history).toEqual(['us0 suspect']);
  for (const id of ofSet) sendHeartbeat(id);
  pass(100);
  expect(outages).toEqual(['begins set eu', 'ends set eu']);
  expect(history).toEqual(['us0 suspect']);
});

test('when the outage of a set is over, only those of the set have time to come back', () => {
  const { engine, put, sendHeartbeat, pass, history, outages } = aHub({
    share: 1,
    groupShare: 0.5,
    minimum: 2,
  });
  engine.changeInterval({ multiplier: 1, returnWithinMs: 600_000 });
  const ofSet = Array.from({ length: 5 }, (_, index) => `eu${index}`);
  const others = Array.from({ length: 20 }, (_, index) => `us${index}`);
  for (const id of ofSet) put(id, 'ready', false, 'eu');
  for (const id of others) put(id, 'ready', false, 'us');
  for (const id of [...ofSet, ...others]) sendHeartbeat(id);
  const goOn = (silent: ReadonlySet<string>) => {
    pass(intervalMs);
    for (const id of [...ofSet, ...others]) if (!silent.has(id)) sendHeartbeat(id);
  };
  for (let one = 0; one < 2; one++) goOn(new Set(ofSet));
  pass(100);
  for (const id of ofSet.slice(1)) sendHeartbeat(id);
  pass(100);
  expect(outages).toEqual(['begins set eu', 'ends set eu']);
  history.length = 0;
  for (let one = 0; one < 4; one++) goOn(new Set(['eu0', 'us0']));
  expect(history).toEqual(['us0 suspect', 'us0 unreachable']);
  for (let one = 0; one < 50; one++) goOn(new Set(['eu0', 'us0']));
  expect(history.slice(2)).toEqual(['eu0 suspect', 'eu0 unreachable']);
});

test('the clusters of one server that fall silent together are held, and it is known which they are at', () => {
  const second = { serverId: 'NB', serverName: 'hub-2' };
  const { engine, put, sendHeartbeat, pass, history, outages, nowMs } = aHub({
    share: 1,
    groupShare: 0.5,
    minimum: 2,
  });
  const ids = Array.from({ length: 12 }, (_, index) => `c${index}`);
  const connection = (id: string, index: number): MemberConnection => ({
    ...connectionOf(id, index + 1),
    ...(index < 4 ? {} : second),
  });
  for (const [index, id] of ids.entries()) {
    put(id, 'ready');
    engine.connected(connection(id, index), nowMs());
    sendHeartbeat(id);
  }
  for (const [index, id] of ids.slice(0, 4).entries()) engine.disconnected(connection(id, index), nowMs());
  pass(5000);
  expect(outages).toEqual(['begins server hub-1']);
  // Where they were last is what they have in common.
  expect(engine.snapshot.serverOf('c0')).toBe('hub-1');
  expect(history).toEqual([]);
  // They come back to the other one.
  for (const [index, id] of ids.slice(0, 4).entries()) {
    engine.connected({ ...connectionOf(id, 100 + index), ...second }, nowMs());
    sendHeartbeat(id);
  }
  pass(100);
  expect(outages).toEqual(['begins server hub-1', 'ends server hub-1']);
  expect(history).toEqual([]);
  expect([...'01'].map((number) => engine.snapshot.serverOf(`c${number}`))).toEqual(['hub-2', 'hub-2']);
});

test('a shorter interval counts from when it is set; a longer one at once', () => {
  const { engine, put, sendHeartbeat, pass, history, nowMs } = aHub();
  put('c1', 'ready');
  sendHeartbeat('c1');
  pass(14_000);
  const known = {
    clusterId: 'c1',
    key: 'U-c1',
    state: 'ready',
    sinceMs: -Infinity,
    lastHeartbeatMs: -Infinity,
  } as const;
  engine.put({ ...known, intervalMs: 2000, graceMs: 6000 }, nowMs());
  pass(3900);
  expect(history).toEqual([]);
  pass(200);
  expect(history.splice(0)).toEqual(['c1 suspect']);
  sendHeartbeat('c1');
  history.length = 0;
  expect(engine.snapshot.nominalPerSecond()).toBe(0.5);
  engine.changeInterval({ multiplier: 3, returnWithinMs: 0 });
  pass(11_900);
  expect(history).toEqual([]);
  pass(200);
  expect(history).toEqual(['c1 suspect']);
});

test('after an outage nobody is silent before each has had its turn to come back, and then as always', () => {
  const { engine, put, sendHeartbeat, pass, history, nowMs } = aHub();
  engine.changeInterval({ multiplier: 1, returnWithinMs: 80_000 });
  put('c1', 'ready');
  put('c2', 'ready');
  sendHeartbeat('c1');
  sendHeartbeat('c2');
  engine.awaitReturn(nowMs());
  // Our own process stands still for a moment: that does not shorten it.
  pass(1000);
  engine.listenAfresh(nowMs());
  pass(79_000);
  sendHeartbeat('c1');
  pass(intervalMs);
  sendHeartbeat('c1');
  expect(history).toEqual([]);
  for (let one = 0; one < 3; one++) {
    pass(intervalMs);
    sendHeartbeat('c1');
  }
  expect(history).toEqual(['c2 suspect', 'c2 unreachable']);
});

test('an API server of a member that comes and goes is told, also after a restart and by another replica', () => {
  const { put, sendHeartbeat, pass, history } = aHub();
  put('c1', 'ready');
  sendHeartbeat('c1', heartbeatFlags.memberApiDown);
  pass(intervalMs);
  sendHeartbeat('c1', heartbeatFlags.memberApiDown);
  expect(history).toEqual(['c1 memberDown']);
  // Another replica has written that it is back; the heartbeat that says so has not come here.
  put('c1', 'ready');
  pass(1000);
  expect(history).toEqual(['c1 memberDown']);
  put('c2', 'memberDown');
  sendHeartbeat('c2', heartbeatFlags.memberApiDown);
  pass(1000);
  expect(history).toEqual(['c1 memberDown']);
  sendHeartbeat('c2');
  expect(history).toEqual(['c1 memberDown', 'c2 ready']);
});

test.each([
  { name: 'was put out and in again', isSeenToLeave: true },
  { name: 'is only seen to have another key', isSeenToLeave: false },
])(
  'what is answered late about the registration before says nothing of a cluster that $name',
  ({ isSeenToLeave }) => {
    const { engine, proposals, history, nowMs, put, putAs } = aHub();
    const hear = () => engine.hear(Buffer.from('c1'), 0, 2, 0, nowMs());
    const settle = (
      proposal: ProposedTransition | undefined,
      outcome?: { state: LivenessState; sinceMs: number },
    ) => proposal && engine.proposals.settle(proposal, outcome, nowMs());
    put('c1');
    hear();
    if (isSeenToLeave) engine.remove('c1', nowMs());
    putAs('UB', 'c1');
    const isReady = { state: 'ready', sinceMs: nowMs() } as const;
    settle(proposals[0], isReady);
    expect(engine.snapshot.stateOf('c1')).toBe('neverSeen');
    hear();
    expect(history).toEqual(['c1 ready', 'c1 ready']);
    // Nor while its own is being written, whatever the answer is.
    settle(proposals[0], isReady);
    settle(proposals[0]);
    if (proposals[0]) engine.proposals.retry(proposals[0], nowMs());
    expect([engine.snapshot.stateOf('c1'), engine.snapshot.isWriting('c1')]).toEqual(['neverSeen', true]);
    settle(proposals[1], isReady);
    expect([engine.snapshot.stateOf('c1'), engine.snapshot.isWriting('c1')]).toEqual(['ready', false]);
  },
);

test('a key that is rotated while a goodbye is being written makes no second transition of it', () => {
  const { engine, history, nowMs, put, putAs } = aHub();
  put('c1', 'ready');
  engine.hear(Buffer.from('c1'), 0, 2, heartbeatFlags.goodbye, nowMs());
  putAs('UB', 'c1', 'ready');
  expect([engine.snapshot.isWriting('c1'), history]).toEqual([true, ['c1 stopped']]);
});

test('a flapping cluster is left alone until it is steady, and a gap begins that anew', () => {
  const { put, sendHeartbeat, pass, history } = aHub();
  put('c1', 'flapping');
  sendHeartbeat('c1');
  for (let one = 0; one < 4; one++) {
    pass(intervalMs);
    sendHeartbeat('c1');
  }
  // Two heartbeats missing.
  pass(graceMs - 1000);
  sendHeartbeat('c1');
  for (let one = 0; one < 7; one++) {
    pass(intervalMs);
    sendHeartbeat('c1');
  }
  expect(history).toEqual([]);
  pass(intervalMs);
  expect(history).toEqual(['c1 ready']);
});

test('whatever heartbeats and connections do: never unreachable within the grace, and always found in time', () => {
  const event = fc.record({
    kind: fc.constantFrom(
      'heartbeat' as const,
      'goodbye' as const,
      'connect' as const,
      'disconnect' as const,
    ),
    afterMs: fc.nat(60_000),
    cluster: fc.constantFrom('c1', 'c2', 'c3'),
    connection: fc.integer({ min: 1, max: 3 }),
  });
  fc.assert(
    fc.property(fc.array(event, { maxLength: 40 }), (events) => {
      const hub = aHub();
      const heardAtMs = new Map<string, number>();
      const check = () => {
        for (const [id, atMs] of heardAtMs) {
          const quietMs = hub.nowMs() - atMs;
          const state = hub.engine.snapshot.stateOf(id);
          expect(state === 'unreachable' && quietMs < graceMs).toBe(false);
          expect(quietMs > graceMs + 200 && (state === 'ready' || state === 'suspect')).toBe(false);
        }
      };
      for (const id of ['c1', 'c2', 'c3']) hub.put(id);
      for (const { kind, afterMs, cluster, connection } of events) {
        hub.pass(afterMs);
        check();
        const which = connectionOf(cluster, connection);
        if (kind === 'connect') hub.engine.connected(which, hub.nowMs());
        else if (kind === 'disconnect') hub.engine.disconnected(which, hub.nowMs());
        else {
          hub.sendHeartbeat(cluster, kind === 'goodbye' ? heartbeatFlags.goodbye : 0);
          heardAtMs.set(cluster, hub.nowMs());
        }
        check();
      }
    }),
    { numRuns: 60 },
  );
});

test('those of a server that was killed are forgotten when it is there again, and no later one is taken for a second', () => {
  const { engine, put, sendHeartbeat, pass, live, nowMs } = aHub();
  put('c1', 'ready');
  put('c2', 'ready');
  const of = (clusterId: string, clientId: number, server: Partial<MemberConnection> = {}) => ({
    ...connectionOf(clusterId, clientId),
    ...server,
  });
  const second = { serverId: 'NB', serverName: 'hub-2' };
  engine.connected(of('c1', 1), nowMs());
  // It was killed; its agent goes to another one, and somebody comes to the first when that is there again.
  engine.connected(of('c1', 1, second), nowMs());
  engine.connected(of('c2', 1, { serverId: 'NA-again' }), nowMs());
  for (const id of ['c1', 'c2']) sendHeartbeat(id);
  engine.disconnected(of('c1', 1, second), nowMs());
  expect(live).toEqual(['c1 connection-lost']);
  pass(100);
  engine.disconnected(of('c2', 1, { serverId: 'NA-again' }), nowMs());
  expect(live).toEqual(['c1 connection-lost', 'c2 connection-lost']);
});

test('a connection that a killed server never told the end of keeps no later one from being missed', () => {
  const { engine, put, sendHeartbeat, pass, live, nowMs } = aHub();
  put('c1', 'ready');
  engine.connected({ ...connectionOf('c1', 1), serverId: 'NA' }, nowMs());
  sendHeartbeat('c1');
  // NA is killed; the agent goes to NB, and sends heartbeats as one does.
  engine.connected({ ...connectionOf('c1', 1), serverId: 'NB' }, nowMs());
  for (let one = 0; one < 8; one++) {
    sendHeartbeat('c1');
    pass(intervalMs);
  }
  sendHeartbeat('c1');
  engine.disconnected({ ...connectionOf('c1', 1), serverId: 'NB' }, nowMs());
  expect(live).toEqual(['c1 connection-lost']);
});

test('the end of a connection that was given up already is no loss', () => {
  const { engine, put, sendHeartbeat, pass, live, nowMs } = aHub();
  put('c1', 'ready');
  engine.connected({ ...connectionOf('c1', 1), serverId: 'NA' }, nowMs());
  engine.connected({ ...connectionOf('c1', 1), serverId: 'NB' }, nowMs());
  for (let one = 0; one < 8; one++) {
    sendHeartbeat('c1');
    pass(intervalMs);
  }
  sendHeartbeat('c1');
  engine.disconnected({ ...connectionOf('c1', 1), serverId: 'NA' }, nowMs());
  pass(1000);
  expect(live).toEqual([]);
  engine.disconnected({ ...connectionOf('c1', 1), serverId: 'NB' }, nowMs());
  expect(live).toEqual(['c1 connection-lost']);
});

test('what was proposed before anybody took it is given over at once, and once', () => {
  const ignore = () => undefined;
  const engine = new LivenessEngine({
    nowMs: 0,
    suspectAfterMs: 2000,
    steadyForMs: 120_000,
    outage: { share: 1, groupShare: 1, minimum: 1000, windowMs: 15_000, deadlineMs: 300_000 },
    output: { live: ignore, outage: ignore, keyUse: ignore },
  });
  const known = { clusterId: 'c1', key: 'U', intervalMs, graceMs, state: 'neverSeen' } as const;
  engine.put({ ...known, sinceMs: -Infinity, lastHeartbeatMs: -Infinity }, 0);
  engine.hear(Buffer.from('c1'), 0, 2, 0, 0);
  const taken: string[] = [];
  engine.proposals.takenBy(({ state }) => taken.push(state));
  expect(taken).toEqual(['ready']);
  engine.proposals.takenBy(({ state }) => taken.push(state));
  expect(taken).toEqual(['ready']);
});
