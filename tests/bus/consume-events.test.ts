import { AckPolicy, DeliverPolicy, jetstreamManager } from '@nats-io/jetstream';
import { headers, type NatsConnection } from '@nats-io/transport-node';
import {
  connectBus,
  dropDeadLetter,
  type EventLog,
  openHeldEvents,
  readDeadLetters,
  retryDeadLetter,
} from '@rollcall/shared/bus';
import { type Consumption, consumeEvents, decideAndAppend } from '@rollcall/shared/decisions';
import { RollcallError } from '@rollcall/shared/errors';
import { approved, draft, leaving, type StoredEvent, tokenRecord, tokenUsed } from '@rollcall/shared/events';
import { createMetrics, type LogFields, type Logger, type Metrics } from '@rollcall/shared/service';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { aDecision } from '../harness/events.ts';
import { startTestHub, type TestHub } from '../harness/test-hub.ts';

let hub: TestHub;
let approver: NatsConnection;
let log: EventLog;
beforeEach(async () => {
  hub = await startTestHub();
  approver = await hub.connectAs('approver');
  log = await hub.openLog('approver');
});
afterEach(async () => {
  await hub[Symbol.asyncDispose]();
});

/** A condition that changes only when something is seen: whoever waits looks again then. */
function sightings<Seen>() {
  const all: Seen[] = [];
  let wake = Promise.withResolvers<void>();
  return {
    all,
    add(seen: Seen) {
      all.push(seen);
      wake.resolve();
      wake = Promise.withResolvers<void>();
    },
    async until(isEnough: (all: readonly Seen[]) => boolean) {
      while (!isEnough(all)) await wake.promise;
    },
  };
}

const codeOf = ({ err }: LogFields) => (err instanceof RollcallError ? err.code : undefined);

function aLogger() {
  const lines = sightings<{ fields: LogFields; message: string }>();
  const write = (fields: LogFields, message: string) => lines.add({ fields, message });
  const logger: Logger = { debug: write, info: write, warn: write, error: write, child: () => logger };
  return {
    logger,
    saw: (code: string) => lines.until((all) => all.some(({ fields }) => codeOf(fields) === code)),
  };
}

async function approve(id: string): Promise<void> {
  const aggregate = { kind: 'cluster', id } as const;
  const { head } = await log.read(aggregate);
  const what = { reason: 'Approved', message: 'm', section: aDecision({ verdict: 'approved' }) };
  await log.append([draft(approved, { aggregate, head }, what)], { correlation: 'test' });
}

/** What no service of ours would write, under the identity of one that may write there. */
async function publishRaw(id: string, type: string | undefined, body: string): Promise<void> {
  const all = headers();
  if (type !== undefined) all.set('ce-type', type);
  await approver.request(`rollcall.events.cluster.${id}.approved`, body, { headers: all, timeout: 5000 });
}

async function deadLetters(): Promise<
  { code: string; subject: string; deliveries: number; message: string }[]
> {
  const jsm = await jetstreamManager(await hub.connectAsOperator());
  const { state } = await jsm.streams.info('DEAD');
  const found = [];
  for (let seq = state.first_seq; state.messages > 0 && seq <= state.last_seq; seq++) {
    const message = await jsm.streams.getMessage('DEAD', { seq });
    if (message)
      found.push(message.json<{ code: string; subject: string; deliveries: number; message: string }>());
  }
  return found;
}

async function pending(): Promise<number> {
  const jsm = await jetstreamManager(await hub.connectAs('setup'));
  const { num_ack_pending, num_pending } = await jsm.consumers.info('EVENTS', 'registrar');
  return num_ack_pending + num_pending;
}

async function consume(
  handle: (event: StoredEvent) => Promise<void> | void,
  more: { logger?: Logger; metrics?: Metrics; onDead?: (error: RollcallError) => void } = {},
): Promise<Consumption & { nc: NatsConnection }> {
  const nc = await hub.connectAs('registrar');
  const { logger = aLogger().logger, onDead = () => undefined, metrics } = more;
  const handler = {
    service: 'registrar',
    logger,
    ...(metrics ? { metrics } : {}),
    onDead,
    handle: async (event: StoredEvent) => handle(event),
  } as const;
  return { ...(await consumeEvents(nc, handler)), nc };
}

test('an event whose handler keeps failing ends in the dead letters with the reason, and the others flow', async () => {
  const handled = sightings<string>();
  const dead = sightings<RollcallError>();
  const handle = ({ id }: StoredEvent) => {
    if (id === 'bad') throw new TypeError('x is undefined');
    handled.add(id);
  };
  await approve('bad');
  await approve('good');
  const metrics = createMetrics('registrar');
  const consumption = await consume(handle, { onDead: dead.add, metrics });
  await handled.until((all) => all.includes('good'));
  expect(dead.all).toEqual([]);
  await dead.until((all) => all.length === 1);
  await approve('later');
  await handled.until((all) => all.includes('later'));
  await consumption.drain();
  const [letter, ...more] = await deadLetters();
  const deliveries = (outcome: string) =>
    metrics.value('rollcall_events_handled_total', { type: 'cluster.approved', outcome });
  expect([deliveries('done'), deliveries('again'), deliveries('dead')]).toEqual([2, 4, 1]);
  expect(metrics.value('rollcall_dead_letters_total')).toBe(1);
  expect(letter).toMatchObject({ code: 'UNEXPECTED', message: 'x is undefined', deliveries: 5 });
  expect(letter?.subject).toBe('rollcall.events.cluster.bad.approved');
  expect(more).toEqual([]);
  expect(await pending()).toBe(0);
});

test('an event that waited long for the API server has its five tries when something else goes wrong then', async () => {
  const handled = sightings<string>();
  const dead = sightings<RollcallError>();
  let tries = 0;
  await approve('waited');
  const consumption = await consume(
    ({ id }) => {
      tries++;
      if (tries <= 5) throw new RollcallError('KUBE_UNREACHABLE', 'the API server is away');
      if (tries === 6) throw new TypeError('x is undefined');
      handled.add(id);
    },
    { onDead: dead.add },
  );
  await Promise.race([handled.until((all) => all.length === 1), dead.until((all) => all.length === 1)]);
  await consumption.drain();
  expect(dead.all).toEqual([]);
  expect(handled.all).toEqual(['waited']);
  expect(await deadLetters()).toEqual([]);
});

test('garbage becomes a dead letter at once, counted, and blocks neither the queue nor its cluster', async () => {
  await publishRaw('one', undefined, '\u0000 not an event');
  await publishRaw('one', 'dev.rollcall.cluster.approved.v1', '{"epoch":');
  const handled = sightings<StoredEvent>();
  const dead = sightings<RollcallError>();
  const consumption = await consume(handled.add, { onDead: dead.add });
  await dead.until((all) => all.length === 2);
  expect(dead.all.map(({ code }) => code)).toEqual(['EVENT_INVALID', 'EVENT_INVALID']);
  await approve('one');
  await handled.until((all) => all.length === 1);
  expect(handled.all[0]).toMatchObject({ id: 'one', previous: { sequence: 2 } });
  await consumption.drain();
  expect(await deadLetters()).toHaveLength(2);
  expect(await pending()).toBe(0);
});

test('an event of a newer version is held, and the others flow', async () => {
  await publishRaw('one', 'dev.rollcall.cluster.approved.v2', '{}');
  const handled = sightings<string>();
  const { logger, saw } = aLogger();
  const consumption = await consume(({ id }) => handled.add(id), { logger });
  await saw('EVENT_VERSION_UNKNOWN');
  await approve('two');
  await handled.until((all) => all.includes('two'));
  await consumption.drain();
  expect(await deadLetters()).toEqual([]);
  expect(await pending()).toBe(1);
  await expect(log.read({ kind: 'cluster', id: 'one' })).rejects.toMatchObject({
    code: 'EVENT_VERSION_UNKNOWN',
  });
});

test('more events of a newer version than a consumer can wait for do not stop it, and none is lost', async () => {
  const count = 1100;
  const newer = Array.from({ length: count }, (_, at) => `newer-${at}`);
  for (const id of newer) await publishRaw(id, 'dev.rollcall.cluster.approved.v2', '{}');
  await approve('known');
  const handled = sightings<string>();
  const metrics = createMetrics('registrar');
  const consumption = await consume(({ id }) => handled.add(id), { metrics });
  await handled.until((all) => all.includes('known'));
  const held = () => metrics.value('rollcall_events_handled_total', { outcome: 'held' });
  while (held() < count) await approveAndWait(handled);
  await consumption.drain();
  expect(await pending()).toBe(0);
  const notes = await readDeadLetters(await hub.connectAs('inspector'));
  expect(new Set(notes.map(({ subject }) => subject)).size).toBe(count);
  expect(notes.every(({ isHeld, code }) => isHeld && code === 'EVENT_VERSION_UNKNOWN')).toBe(true);
});

/** Something that happens meanwhile: waiting for it is waiting without a clock. */
let approvals = 0;
async function approveAndWait(handled: ReturnType<typeof sightings<string>>): Promise<void> {
  const id = `meanwhile-${approvals++}`;
  await approve(id);
  await handled.until((all) => all.includes(id));
}

test('a version that knows what was held handles it, and the note goes', async () => {
  await approve('one');
  const held = openHeldEvents(await hub.connectAs('registrar'), 'registrar');
  const jsm = await jetstreamManager(await hub.connectAsOperator());
  // As if an older version had put the event aside and acknowledged it.
  await jsm.consumers.delete('EVENTS', 'registrar');
  await jsm.consumers.add('EVENTS', {
    durable_name: 'registrar',
    deliver_policy: DeliverPolicy.New,
    ack_policy: AckPolicy.Explicit,
  });
  const note = { service: 'registrar', code: 'EVENT_VERSION_UNKNOWN', message: 'm', deliveries: 5 };
  await held.put({ ...note, subject: 'rollcall.events.cluster.one.approved', sequence: 1 });
  const handled = sightings<string>();
  const consumption = await consume(({ id }) => handled.add(id));
  await handled.until((all) => all.includes('one'));
  await consumption.drain();
  expect(await readDeadLetters(await hub.connectAs('inspector'))).toEqual([]);
});

test('a dead letter that is tried again is handled and goes, or is dead again with what is in its way now', async () => {
  let broken = new Set(['mended', 'hopeless']);
  const dead = sightings<RollcallError>();
  const handled = sightings<string>();
  const handle = ({ id }: StoredEvent) => {
    if (broken.has(id)) throw new RollcallError('EVENT_INVALID', `${id} cannot be handled`);
    handled.add(id);
  };
  await approve('mended');
  await approve('hopeless');
  const first = await consume(handle, { onDead: dead.add });
  await dead.until((all) => all.length === 2);
  await first.drain();
  const mend = await connectBus(hub.address, hub.credentialsOf('mend'), 'mend');
  try {
    for (const letter of await readDeadLetters(mend)) await retryDeadLetter(mend, letter);
    await expect
      .poll(async () => (await readDeadLetters(mend)).map(({ isHeld }) => isHeld))
      .toEqual([true, true]);
    broken = new Set(['hopeless']);
    const { logger, saw } = aLogger();
    const second = await consume(handle, { logger });
    await handled.until((all) => all.includes('mended'));
    await saw('EVENT_INVALID');
    await expect
      .poll(async () => (await readDeadLetters(mend)).map(({ subject, isHeld }) => [subject, isHeld]))
      .toEqual([['rollcall.events.cluster.hopeless.approved', false]]);
    await second.drain();
    const [letter] = await readDeadLetters(mend);
    expect(letter).toMatchObject({ code: 'EVENT_INVALID', message: 'hopeless cannot be handled' });
    if (letter) await dropDeadLetter(mend, letter);
    expect(await readDeadLetters(mend)).toEqual([]);
    expect(handled.all).toEqual(['mended']);
  } finally {
    await mend.close();
  }
});

test('two replicas share the work, each event handled once', async () => {
  const ids = Array.from({ length: 60 }, (_, at) => `c-${at}`);
  const handled = sightings<string>();
  const busy = sightings<number>();
  // Nobody goes on before both have something to do: if one got everything, this would never end.
  const handle =
    (replica: number) =>
    async ({ id }: StoredEvent) => {
      busy.add(replica);
      await busy.until((all) => new Set(all).size === 2);
      handled.add(id);
    };
  const replicas = await Promise.all([consume(handle(1)), consume(handle(2))]);
  for (const id of ids) await approve(id);
  await handled.until((all) => all.length === ids.length);
  await Promise.all(replicas.map((replica) => replica.drain()));
  expect(handled.all.toSorted()).toEqual(ids.toSorted());
  expect(await pending()).toBe(0);
});

test('kill -9 of the server in between loses nothing, and the consumption goes on by itself', async () => {
  const before = Array.from({ length: 40 }, (_, at) => `before-${at}`);
  for (const id of before) await approve(id);
  const handled = sightings<string>();
  const consumption = await consume(({ id }) => handled.add(id));
  await handled.until((all) => all.length >= 5);
  await hub.natsServer.kill();
  await hub.natsServer.restart();
  log = await hub.openLog('approver');
  await approve('after');
  await handled.until((all) => [...before, 'after'].every((id) => all.includes(id)));
  await consumption.drain();
  expect(await deadLetters()).toEqual([]);
});

test('draining waits for what runs and acknowledges it', async () => {
  const started = Promise.withResolvers<void>();
  const finish = Promise.withResolvers<void>();
  const consumption = await consume(async () => {
    started.resolve();
    await finish.promise;
  });
  await approve('one');
  await started.promise;
  expect(consumption.running()).toBe(1);
  const drained = consumption.drain();
  finish.resolve();
  await drained;
  expect(consumption.running()).toBe(0);
  await consumption.nc.flush();
  expect(await pending()).toBe(0);
});

test('a connection that closes under a running handler ends neither the process nor the event', async () => {
  const started = Promise.withResolvers<void>();
  const finish = Promise.withResolvers<void>();
  const consumption = await consume(async () => {
    started.resolve();
    await finish.promise;
  });
  await approve('one');
  await started.promise;
  await consumption.nc.close();
  finish.resolve();
  await consumption.drain();
  expect(await pending()).toBe(1);
});

test('of racers on one aggregate everybody gets a turn', async () => {
  const registrarLog = await hub.openLog('registrar');
  const aggregate = { kind: 'token', id: 'one' } as const;
  const use = () =>
    decideAndAppend(
      registrarLog,
      {
        gather: async () => tokenRecord(await registrarLog.read(aggregate)),
        decide: (token) => {
          const section = { used: (token.uses?.used ?? 0) + 1, lastUsedBy: 'x', lastUsedAtMs: 1 };
          return [draft(tokenUsed, token, { reason: 'Used', message: 'm', section })];
        },
      },
      { correlation: 'test' },
    );
  await Promise.all(Array.from({ length: 10 }, use));
  expect(tokenRecord(await registrarLog.read(aggregate)).uses?.used).toBe(10);
});

test('eleven hundred clusters that leave, each of which takes its time, keep no approval waiting', async () => {
  const section = aDecision({ verdict: 'leaving' });
  const leave = (at: number) => {
    const on = { aggregate: { kind: 'cluster', id: `leaver-${at}` }, head: undefined } as const;
    const drafted = draft(leaving, on, { reason: 'Deleted', message: 'm', section });
    return log.append([drafted], { correlation: 'test' });
  };
  await Promise.all(Array.from({ length: 1100 }, (_, at) => leave(at)));
  const handled = sightings<string>();
  const end = Promise.withResolvers<void>();
  let running = 0;
  let most = 0;
  const consumption = await consume(async ({ id, type }) => {
    if (type !== 'leaving') return handled.add(id);
    most = Math.max(most, ++running);
    await end.promise;
    running--;
  });
  await approve('newcomer');
  await handled.until((all) => all.includes('newcomer'));
  expect(most).toBe(4);
  end.resolve();
  await consumption.drain();
});
