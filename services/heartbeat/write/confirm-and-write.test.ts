import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { heartbeatFlags, type EventLog } from '@rollcall/shared/bus';
import { RollcallError } from '@rollcall/shared/errors';
import type { AggregateRecord, EventDraft } from '@rollcall/shared/events';
import type { Logger } from '@rollcall/shared/service';
import { LivenessEngine } from '../engine/liveness-engine.ts';
import { coordinateTransitions } from './confirm-and-write.ts';

const clusterId = 'c-1';
const startMs = 100_000;
const quiet = () => undefined;
const logger: Logger = { debug: quiet, info: quiet, warn: quiet, error: quiet, child: () => logger };

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** Ends with its test: what is tried again without end would go on in the time of another one. */
function startCoordinating(options: Parameters<typeof coordinateTransitions>[0]): void {
  const { drain } = coordinateTransitions(options);
  onTestFinished(drain);
}

/** An admitted cluster, a log that keeps its liveness, and the engine and writer of one replica. */
function aReplica(lose: (append: number) => boolean) {
  const written: string[] = [];
  const lastOf: Record<string, object> = {
    registrar: { section: { state: 'admitted', admittedKey: 'UA', admittedAtMs: 1000 }, correlation: 'r' },
    approver: {
      section: {
        verdict: 'approved',
        key: 'UA',
        approvedKey: 'UA',
        heartbeat: { intervalSeconds: 15, graceSeconds: 45 },
        revokedKeys: [],
      },
    },
  };
  let reads = 0;
  const log = {
    read: async () => {
      reads++;
      return { aggregate: { kind: 'cluster', id: clusterId }, lastOf } as unknown as AggregateRecord;
    },
    append: async ([event]: readonly EventDraft[]) => {
      written.push(event?.definition.type ?? '');
      lastOf['heartbeat'] = { section: event?.section, sequence: written.length };
      if (lose(written.length)) throw new RollcallError('BUS_UNREACHABLE', 'stored, and the answer was lost');
    },
  } as unknown as EventLog;
  const engine = new LivenessEngine({
    nowMs: startMs,
    suspectAfterMs: 2000,
    steadyForMs: 120_000,
    outage: { share: 0.5, groupShare: 1, minimum: 20, windowMs: 30_000, deadlineMs: 120_000 },
    output: { live: quiet, outage: quiet, keyUse: quiet },
  });
  startCoordinating({
    engine,
    log,
    logger,
    clock: { monotonicMs: () => startMs, hubMs: () => startMs },
    replicas: { youngest: async () => [] },
    isReceiving: async () => true,
    flap: { losses: 4, windowMs: 600_000 },
    written: quiet,
    notReceiving: quiet,
  });
  const known = { clusterId, key: 'UA', intervalMs: 15_000, graceMs: 45_000, state: 'neverSeen' } as const;
  engine.put({ ...known, sinceMs: -Infinity, lastHeartbeatMs: -Infinity }, startMs);
  const id = Buffer.from(clusterId);
  const hear = (flags = 0) => engine.hear(id, 0, id.length, flags, startMs);
  return { written, lastOf, engine, hear, reads: () => reads };
}

test('a goodbye after a write whose answer was lost counts from what was written', async () => {
  const { written, engine, hear } = aReplica((append) => append === 1);
  hear();
  await vi.advanceTimersByTimeAsync(0);
  hear(heartbeatFlags.goodbye);
  expect(written).toEqual(['joined']);
  await vi.advanceTimersByTimeAsync(1000);
  expect(written).toEqual(['joined', 'stopped']);
  expect(engine.snapshot.stateOf(clusterId)).toBe('stopped');
});

test('who lost the race to another replica whose clock is behind takes no heartbeat from before for a new one', async () => {
  const { written, lastOf, engine, hear } = aReplica(() => false);
  hear();
  await vi.advanceTimersByTimeAsync(0);
  const connection = { clusterId, key: 'UA', serverId: 'NA', serverName: 'hub-1', clientId: 1 };
  engine.connected(connection, startMs);
  engine.disconnected(connection, startMs);
  const sinceMs = startMs - 50_000;
  const section = { state: 'suspect', key: 'UA', cause: 'NoHeartbeats', joinedAtMs: 2000, sinceMs };
  lastOf['heartbeat'] = { section: { ...section, lastHeartbeatAtMs: sinceMs } };
  engine.advance(startMs + 3000);
  await vi.advanceTimersByTimeAsync(5000);
  expect(written).toEqual(['joined']);
  expect(engine.snapshot.stateOf(clusterId)).toBe('suspect');
  hear();
  await vi.advanceTimersByTimeAsync(0);
  expect(written).toEqual(['joined', 'ready']);
});

test('a goodbye that was stored unheard, and answered by another replica, is not told again: seed 5008679', async () => {
  const { written, lastOf, engine, hear } = aReplica((append) => append === 2);
  hear();
  await vi.advanceTimersByTimeAsync(0);
  hear(heartbeatFlags.goodbye);
  await vi.advanceTimersByTimeAsync(0);
  expect(written).toEqual(['joined', 'stopped']);
  const section = { state: 'ready', key: 'UA', cause: 'Alive', joinedAtMs: 2000, sinceMs: startMs - 20_000 };
  lastOf['heartbeat'] = { section: { ...section, lastHeartbeatAtMs: startMs - 20_000 }, sequence: 3 };
  await vi.advanceTimersByTimeAsync(5000);
  expect(written).toEqual(['joined', 'stopped']);
  expect(engine.snapshot.stateOf(clusterId)).toBe('ready');
  hear(heartbeatFlags.goodbye);
  await vi.advanceTimersByTimeAsync(0);
  expect(written).toEqual(['joined', 'stopped', 'stopped']);
});

test('a goodbye that was not stored is told again', async () => {
  const { written, lastOf, engine, hear } = aReplica((append) => append === 2);
  hear();
  await vi.advanceTimersByTimeAsync(0);
  const before = lastOf['heartbeat'];
  hear(heartbeatFlags.goodbye);
  await vi.advanceTimersByTimeAsync(0);
  if (before) lastOf['heartbeat'] = before;
  await vi.advanceTimersByTimeAsync(1000);
  expect(written).toEqual(['joined', 'stopped', 'stopped']);
  expect(engine.snapshot.stateOf(clusterId)).toBe('stopped');
});

test('what the record does not allow is not asked for without end', async () => {
  const { written, lastOf, hear, reads } = aReplica(() => false);
  Object.assign(lastOf['registrar'] ?? {}, {
    section: { state: 'requested', admittedKey: 'UA', admittedAtMs: 1000 },
  });
  hear();
  await vi.advanceTimersByTimeAsync(5000);
  expect(written).toEqual([]);
  expect(reads()).toBe(1);
});

test('who is heard again while the verdict waits behind slow appends is not declared silent', async () => {
  let nowMs = startMs;
  const ids = Array.from({ length: 300 }, (_, at) => `c-${at}`);
  const section = { state: 'ready', key: 'UA', cause: 'Alive', joinedAtMs: 2000, sinceMs: 3000 };
  const written: string[] = [];
  const log = {
    read: async ({ id }: { id: string }) => {
      const lastOf = {
        registrar: {
          section: { state: 'admitted', admittedKey: 'UA', admittedAtMs: 1000 },
          correlation: 'r',
        },
        approver: {
          section: {
            verdict: 'approved',
            key: 'UA',
            approvedKey: 'UA',
            heartbeat: { intervalSeconds: 15, graceSeconds: 45 },
            revokedKeys: [],
          },
        },
        heartbeat: { section: { ...section, lastHeartbeatAtMs: startMs - 1000 }, sequence: 1 },
      };
      return { aggregate: { kind: 'cluster', id }, lastOf } as unknown as AggregateRecord;
    },
    async append(drafts: readonly EventDraft[]) {
      await new Promise((resolve) => void setTimeout(resolve, 2000));
      written.push(...drafts.map(({ definition }) => definition.type));
    },
  } as unknown as EventLog;
  const engine = new LivenessEngine({
    nowMs,
    suspectAfterMs: 2000,
    steadyForMs: 120_000,
    outage: { share: 1, groupShare: 1, minimum: 100_000, windowMs: 30_000, deadlineMs: 120_000 },
    output: { live: quiet, outage: quiet, keyUse: quiet },
  });
  startCoordinating({
    engine,
    log,
    logger,
    clock: { monotonicMs: () => nowMs, hubMs: () => nowMs },
    replicas: { youngest: async () => [] },
    isReceiving: async () => true,
    flap: { losses: 400, windowMs: 600_000 },
    written: quiet,
    notReceiving: quiet,
  });
  const known = { key: 'UA', intervalMs: 15_000, graceMs: 45_000, state: 'ready' } as const;
  for (const id of ids)
    engine.put({ ...known, clusterId: id, sinceMs: 3000, lastHeartbeatMs: startMs - 1000 }, nowMs);
  nowMs += 31_000;
  engine.advance(nowMs);
  // Four batches of 32 are being written now; the others wait for them.
  await vi.advanceTimersByTimeAsync(60);
  for (const name of ids) {
    const id = Buffer.from(name);
    engine.hear(id, 0, id.length, 0, nowMs);
  }
  await vi.advanceTimersByTimeAsync(60_000);
  expect(written.filter((type) => type === 'suspect')).toHaveLength(4 * 32);
});

/** Clusters of one replica that fall silent together, before a log that does what it is told; time passes by `pass`. */
function aSilentFleet(ids: readonly string[]) {
  const section = { state: 'ready', key: 'UA', cause: 'Alive', joinedAtMs: 1000, sinceMs: 1000 };
  const lastOf = {
    registrar: { section: { state: 'admitted', admittedKey: 'UA', admittedAtMs: 1000 }, correlation: 'r' },
    approver: {
      section: {
        verdict: 'approved',
        key: 'UA',
        approvedKey: 'UA',
        heartbeat: { intervalSeconds: 15, graceSeconds: 45 },
        revokedKeys: [],
      },
    },
    heartbeat: { section, sequence: 1 },
  };
  const written: string[] = [];
  const behaviour = {
    /** Before a record is read, and before an append. */
    read: async (_id: string): Promise<void> => undefined,
    append: async (_drafts: readonly EventDraft[]): Promise<void> => undefined,
  };
  const log = {
    async read({ id }: { id: string }) {
      await behaviour.read(id);
      return { aggregate: { kind: 'cluster', id }, lastOf } as unknown as AggregateRecord;
    },
    async append(drafts: readonly EventDraft[]) {
      await behaviour.append(drafts);
      for (const { aggregate, definition } of drafts) written.push(`${aggregate.id} ${definition.type}`);
    },
  } as unknown as EventLog;
  let nowMs = startMs;
  const engine = new LivenessEngine({
    nowMs,
    suspectAfterMs: 2000,
    steadyForMs: 120_000,
    outage: { share: 1, groupShare: 1, minimum: 20, windowMs: 30_000, deadlineMs: 120_000 },
    output: { live: quiet, outage: quiet, keyUse: quiet },
  });
  const clock = { monotonicMs: () => nowMs, hubMs: () => nowMs };
  const replicas = { youngest: async () => [] };
  const flap = { losses: 4, windowMs: 600_000 };
  const rest = { isReceiving: async () => true, written: quiet, notReceiving: quiet };
  startCoordinating({ engine, log, logger, clock, replicas, flap, ...rest });
  const known = { key: 'UA', intervalMs: 15_000, graceMs: 45_000, state: 'ready', sinceMs: nowMs } as const;
  for (const id of ids) engine.put({ ...known, clusterId: id, lastHeartbeatMs: nowMs }, nowMs);
  return {
    written,
    behaviour,
    stateOf: (id: string) => engine.snapshot.stateOf(id),
    hear(id: string) {
      const bytes = Buffer.from(id);
      engine.hear(bytes, 0, bytes.length, 0, nowMs);
    },
    async pass(ms: number) {
      nowMs += ms;
      engine.advance(nowMs);
      await vi.advanceTimersByTimeAsync(100);
    },
  };
}

test('who is heard while one unreadable record holds the batch up is not called silent', async () => {
  const fleet = aSilentFleet(['a', 'b', 'newer']);
  let tries = 0;
  fleet.behaviour.read = async (id) => {
    if (id !== 'newer') return;
    if (++tries === 1) fleet.hear('b');
    throw new RollcallError('EVENT_VERSION_UNKNOWN', 'of a newer version');
  };
  await fleet.pass(40_000);
  expect(fleet.written).toEqual(['a suspect']);
  expect(fleet.stateOf('b')).toBe('ready');
});

test('who is heard while others are faster is not called silent, and the rest of the batch is written', async () => {
  const fleet = aSilentFleet(['a', 'b']);
  let tries = 0;
  fleet.behaviour.append = async () => {
    if (++tries > 1) return;
    fleet.hear('a');
    throw new RollcallError('APPEND_CONFLICT', 'another writer was faster');
  };
  await fleet.pass(40_000);
  // The pause after a lost race is a real one.
  await vi.waitFor(() => expect(fleet.written).toHaveLength(1));
  expect(fleet.written).toEqual(['b suspect']);
  expect(fleet.stateOf('a')).toBe('ready');
  // It is judged anew from then on.
  await fleet.pass(40_000);
  await vi.waitFor(() => expect(fleet.written).toContain('a suspect'));
});
