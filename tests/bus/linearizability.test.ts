import { setTimeout as delay } from 'node:timers/promises';
import { JetStreamApiError } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import type { EventLog } from '@rollcall/shared/bus';
import { RollcallError } from '@rollcall/shared/errors';
import { draft, type Head, identitySchema, requested, type StoredEvent } from '@rollcall/shared/events';
import { expect, test } from 'vitest';
import { createRandom } from '../../cli/simulate/random.ts';
import { hasGo } from '../harness/go-programs.ts';
import { checkHistory, type RecordedOperation } from '../harness/linearizability.ts';
import { areAllCurrent, goOn, leaderOf, pause } from '../harness/nats-nodes.ts';
import { startTestHub, type TestHub } from '../harness/test-hub.ts';
import { until } from '../harness/embedded.ts';

/**
 * The append itself, on three servers: clients race for the same aggregates while leaders are killed and paused, and Porcupine
 * looks for an order that explains everything. First appends above all (`#5644`, `#4320` of nats-server).
 */

const clients = 6;
const aggregatesAtOnce = 4;
const appendsEach = 6;

interface Attempt {
  readonly aggregate: string;
  readonly client: number;
  readonly mark: string;
  readonly expected: number;
  readonly callNs: number;
  returnNs: number;
  /** `inFlight`: a conflict with an append that the leader had not stored yet. */
  outcome: 'ok' | 'conflict' | 'inFlight' | 'unknown';
}

/** "wrong last sequence" while another append is in flight (facts of NATS; nats-server at three replicas). */
const inFlightCode = 10_164;

function outcomeOf(error: unknown): Attempt['outcome'] {
  if (!(error instanceof RollcallError) || error.code !== 'APPEND_CONFLICT') return 'unknown';
  return error.cause instanceof JetStreamApiError && error.cause.code === inFlightCode
    ? 'inFlight'
    : 'conflict';
}

const nowNs = () => Number(process.hrtime.bigint());

function anEvent(id: string, head: Head | undefined, mark: string) {
  const section = identitySchema.parse({
    state: 'requested',
    clusterId: id,
    clusterName: id,
    request: {
      id: mark,
      key: 'U',
      keyFingerprint: 'f',
      tokenId: 't',
      tokenName: 't',
      claimed: {},
      requestedAtMs: 1,
    },
  });
  return draft(
    requested,
    { aggregate: { kind: 'cluster', id }, head },
    { reason: 'R', message: 'm', section },
  );
}

const markOf = ({ section }: StoredEvent) => (section as { request: { id: string } }).request.id;

/** One client appends at the head that it has read, whoever else does, and notes what it was told. */
async function race(
  log: EventLog,
  { client, seed, isOver }: { client: number; seed: number; isOver: () => boolean },
  attempts: Attempt[],
): Promise<void> {
  const random = createRandom(seed * 100 + client);
  for (let round = 0; !isOver(); round++) {
    for (let appended = 0; appended < appendsEach && !isOver(); appended++) {
      const aggregate = `s${seed}-r${round}-${random.int(1, aggregatesAtOnce)}`;
      const record = await log.read({ kind: 'cluster', id: aggregate }).catch(() => undefined);
      if (!record) continue;
      const attempt: Attempt = {
        aggregate,
        client,
        mark: `${client}-${round}-${appended}`,
        expected: record.head?.sequence ?? 0,
        callNs: nowNs(),
        returnNs: 0,
        outcome: 'unknown',
      };
      attempts.push(attempt);
      attempt.outcome = await log
        .append([anEvent(aggregate, record.head, attempt.mark)], { correlation: 'race' })
        .then(() => 'ok' as const, outcomeOf);
      attempt.returnNs = nowNs();
    }
  }
}

/** Another append was on its way at the time. It may have gone with its leader: then nothing was stored that says so. */
const isInFlight = (attempt: Attempt, attempts: readonly Attempt[]): boolean =>
  attempt.outcome === 'inFlight' &&
  attempts.some(
    (other) =>
      other !== attempt &&
      other.aggregate === attempt.aggregate &&
      other.outcome === 'unknown' &&
      other.callNs < attempt.returnNs &&
      attempt.callNs < other.returnNs,
  );

/** What the stream has at the end says what came of attempts whose answer was lost, and whether one was stored twice. */
function history(attempts: readonly Attempt[], stored: readonly StoredEvent[]): RecordedOperation[] {
  const endNs = nowNs();
  const sequencesOf = Map.groupBy(stored, (event) => `${event.id} ${markOf(event)}`);
  const appends = attempts.flatMap((attempt): RecordedOperation[] => {
    const { aggregate, client, expected, callNs, outcome } = attempt;
    const found = sequencesOf.get(`${aggregate} ${attempt.mark}`) ?? [];
    const base = { aggregate, client, op: 'append', expected, callNs } as const;
    if (found.length === 0 && isInFlight(attempt, attempts)) return [];
    if (found.length === 0 && (outcome === 'conflict' || outcome === 'inFlight'))
      return [{ ...base, result: 'conflict', returnNs: attempt.returnNs }];
    // Acknowledged and gone: an append that no later read can explain.
    if (outcome === 'ok' && found.length === 0)
      return [{ ...base, result: 'ok', sequence: expected + 1, returnNs: attempt.returnNs }];
    const returnNs = outcome === 'ok' ? attempt.returnNs : endNs;
    return found.map(({ sequence }) => ({ ...base, result: 'ok', sequence, returnNs }));
  });
  const lastOf = new Map(stored.map(({ id, sequence }) => [id, sequence]));
  const reads = [...new Set(attempts.map(({ aggregate }) => aggregate))].map(
    (aggregate): RecordedOperation => ({
      aggregate,
      client: clients,
      op: 'read',
      sequence: lastOf.get(aggregate) ?? 0,
      callNs: endNs + 1,
      returnNs: endNs + 2,
    }),
  );
  return [...appends, ...reads];
}

async function disturb(hub: TestHub, nc: NatsConnection): Promise<string[]> {
  const done: string[] = [];
  const untilLeader = (not?: string) =>
    until('a leader', async () => {
      const leader = await leaderOf(nc, hub.nodes);
      return leader && leader.name !== not ? leader : undefined;
    });
  const untilCurrent = () => until('all servers have everything', () => areAllCurrent(nc));
  for (const fault of ['kill', 'pause', 'kill'] as const) {
    await delay(500);
    const leader = await untilLeader();
    if (fault === 'kill') await leader.server().kill();
    else {
      pause(leader);
      // If it is this server that we ask, nothing answers for the minute that its silence takes to be noticed.
      await nc.reconnect();
    }
    await untilLeader(leader.name);
    done.push(`${fault} ${leader.name}`);
    if (fault === 'kill') await leader.start();
    else goOn(leader);
    await untilCurrent();
  }
  return done;
}

test.skipIf(!hasGo())('concurrent appends are linearizable while leaders are killed and paused', async () => {
  const seed = 1;
  await using hub = await startTestHub({ servers: 3 });
  const logs = await Promise.all(Array.from({ length: clients }, () => hub.openLog('registrar')));
  const attempts: Attempt[] = [];
  let isOver = false;
  const racing = Promise.all(
    logs.map((log, client) => race(log, { client, seed, isOver: () => isOver }, attempts)),
  );
  const faults = await disturb(hub, await hub.connectAs('inspector')).finally(() => {
    isOver = true;
  });
  await racing;
  const log = await hub.openLog('registrar');
  const stored = await Array.fromAsync(log.scan({ filter: 'cluster.*.*' }));
  const operations = history(attempts, stored);
  const verdict = await checkHistory(operations);
  const count = (outcome: Attempt['outcome']) => attempts.filter((one) => one.outcome === outcome).length;
  console.info(
    `${operations.length} operations on ${verdict.aggregates} aggregates (${count('ok')} ok, ${count('conflict')} conflicts, ${count('inFlight')} with what was in flight, ${count('unknown')} unknown), seed ${seed}, faults: ${faults.join(', ')}`,
  );
  // Which of them it was is not seen twice.
  for (const aggregate of verdict.illegal)
    console.info(
      JSON.stringify({
        attempts: attempts.filter((one) => one.aggregate === aggregate),
        stored: stored.filter(({ id }) => id === aggregate).map((event) => [event.sequence, markOf(event)]),
      }),
    );
  expect(verdict).toMatchObject({ result: 'Ok', illegal: [] });
  expect(faults).toHaveLength(3);
  // Else nothing was raced for.
  expect(count('conflict') + count('inFlight')).toBeGreaterThan(10);
  expect(attempts.filter(({ expected }) => expected === 0).length).toBeGreaterThan(10);
});

const append = (client: number, expected: number, more: Partial<RecordedOperation>): RecordedOperation => ({
  aggregate: 'a',
  client,
  op: 'append',
  expected,
  callNs: client,
  returnNs: 100 + client,
  ...more,
});

test.skipIf(!hasGo()).each([
  {
    name: 'a first append that two have won',
    operations: [append(1, 0, { result: 'ok', sequence: 5 }), append(2, 0, { result: 'ok', sequence: 6 })],
    want: 'Illegal',
  },
  {
    name: 'one append, stored twice',
    operations: [
      append(1, 0, { result: 'ok', sequence: 5 }),
      append(1, 0, { result: 'ok', sequence: 6, callNs: 1, returnNs: 900 }),
    ],
    want: 'Illegal',
  },
  {
    name: 'an acknowledged append that is gone',
    operations: [
      append(1, 0, { result: 'ok', sequence: 5 }),
      append(9, 0, { op: 'read', sequence: 0, callNs: 200, returnNs: 201 }),
    ],
    want: 'Illegal',
  },
  {
    name: 'a conflict where nobody was faster',
    operations: [append(1, 0, { result: 'conflict' })],
    want: 'Illegal',
  },
  {
    name: 'one winner, one conflict',
    operations: [append(1, 0, { result: 'ok', sequence: 5 }), append(2, 0, { result: 'conflict' })],
    want: 'Ok',
  },
])('the checker can tell: $name → $want', async ({ operations, want }) => {
  expect((await checkHistory(operations)).result).toBe(want);
});
