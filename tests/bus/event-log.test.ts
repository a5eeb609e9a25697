import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { headers, type NatsConnection } from '@nats-io/transport-node';
import {
  asBusError,
  type EventLog,
  openEventLog,
  openFactStore,
  seenOver,
  type SkippedEvent,
} from '@rollcall/shared/bus';
import { draft, type StoredEvent, tokenDeclared, tokenWithdrawn } from '@rollcall/shared/events';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { until } from '../harness/embedded.ts';
import { aDeclaration } from '../harness/events.ts';
import { startTestHub, type TestHub } from '../harness/test-hub.ts';

let hub: TestHub;
let nc: NatsConnection;
let log: EventLog;
beforeAll(async () => {
  hub = await startTestHub();
  nc = await hub.connectAs('approver');
  log = await openEventLog(nc, { epoch: 1, source: '/rollcall/approver' });
});
afterAll(async () => {
  await hub[Symbol.asyncDispose]();
});

const token = (id: string) => ({ kind: 'token', id }) as const;

async function declare(id: string, name = 'one'): Promise<void> {
  const what = { reason: 'Declared', message: 'm', section: aDeclaration({ name }) };
  await log.append([draft(tokenDeclared, await log.read(token(id)), what)], { correlation: 'test' });
}

/** The library does not tell how many subscriptions a connection has; the server would close it at its limit. */
function openSubscriptions(connection: NatsConnection): number {
  const { protocol } = connection as unknown as { protocol: { subscriptions: { size(): number } } };
  return protocol.subscriptions.size();
}

test('reading leaves nothing behind, whether something is there or not', async () => {
  await declare('there');
  await log.read(token('there'));
  const before = openSubscriptions(nc);
  for (const id of ['there', 'nothing', 'there', 'nothing']) await log.read(token(id));
  await log.readAll('token.*.*');
  await log.readAll('set.*.*');
  for await (const event of log.scan({ filter: 'token.there.*' })) expect(event.id).toBe('there');
  expect(openSubscriptions(nc)).toBe(before);
});

test('what this connection was told of is in what it reads: who answers with less is asked again', async () => {
  await declare('behind');
  const first = (await log.read(token('behind'))).head?.sequence ?? 0;
  seenOver(nc).note({ ...token('behind'), type: 'declared' }, first + 1);
  const reading = log.read(token('behind'));
  // The next event of all, by somebody else.
  const other = await openEventLog(await hub.connectAs('approver'), {
    epoch: 1,
    source: '/rollcall/approver',
  });
  const what = { reason: 'Declared', message: 'm', section: aDeclaration({ name: 'later' }) };
  await other.append([draft(tokenDeclared, await other.read(token('behind')), what)], {
    correlation: 'test',
  });
  expect((await reading).head?.sequence).toBe(first + 1);

  seenOver(nc).note({ ...token('behind'), type: 'declared' }, first + 1000);
  await expect(log.read(token('behind'))).rejects.toMatchObject({ code: 'BUS_UNREACHABLE', retry: true });
});

test('a scan gives everything in its order, over more than one batch', async () => {
  const ids = Array.from({ length: 12 }, (_, at) => `scan-${at}`);
  const what = { reason: 'Declared', message: 'm', section: aDeclaration() };
  for (let round = 0; round < 50; round++) {
    const heads = await Promise.all(ids.map((id) => log.read(token(id))));
    await log.append(
      heads.map((head) => draft(tokenDeclared, head, what)),
      { correlation: 'test' },
    );
  }
  const seen: StoredEvent[] = [];
  for await (const event of log.scan({ filter: 'token.*.*' }))
    if (event.id.startsWith('scan-')) seen.push(event);
  expect(seen).toHaveLength(600);
  const sequences = seen.map(({ sequence }) => sequence);
  expect(sequences).toEqual(sequences.toSorted((a, b) => a - b));
});

test('garbage on an aggregate hides nothing of others, is skipped by a scan, and does not end its history', async () => {
  await declare('dirty');
  const all = headers();
  all.set('ce-type', 'nonsense');
  const { seq } = (
    await nc.request('rollcall.events.token.dirty.withdrawn', '{', { headers: all, timeout: 5000 })
  ).json<{
    seq: number;
  }>();
  const record = await log.read(token('dirty'));
  expect(record.lastOf.approver?.section).toMatchObject({ name: 'one' });
  expect(record.head?.sequence).toBe(seq);
  await declare('dirty', 'two');
  const after = await log.read(token('dirty'));
  expect(after.newest).toMatchObject({ previous: { sequence: seq }, section: { name: 'two' } });
  const skipped: string[] = [];
  const seen: number[] = [];
  const scan = log.scan({ filter: 'token.dirty.*', onSkip: ({ code }) => skipped.push(code) });
  for await (const { sequence } of scan) seen.push(sequence);
  expect(skipped).toEqual(['EVENT_INVALID']);
  expect(seen).toHaveLength(2);
});

test('what one aggregate has that cannot be read hides nothing of the others, and is named', async () => {
  await declare('good');
  const all = headers();
  all.set('ce-type', 'dev.rollcall.token.declared.v9');
  await nc.request('rollcall.events.token.newer.declared', '{}', { headers: all, timeout: 5000 });
  const skipped: string[] = [];
  const onSkip = ({ code }: Error & { code: string }, { kind, id, type }: SkippedEvent) =>
    skipped.push(`${kind}.${id}.${type} ${code}`);
  const found = await log.readAll('token.*.*', { onSkip });
  expect(found.map(({ id }) => id)).toContain('good');
  expect(skipped).toContain('token.newer.declared EVENT_VERSION_UNKNOWN');
  await expect(log.read(token('newer'))).rejects.toMatchObject({ code: 'EVENT_VERSION_UNKNOWN' });
  const record = await log.read(token('newer'), { unknownAsGarbage: true });
  expect(record.head).toBeDefined();
  const what = { reason: 'Deleted', message: 'm', section: aDeclaration({ withdrawn: true }) };
  await log.append([draft(tokenWithdrawn, record, what)], { correlation: 'test' });
  // Its writer has spoken again: what could not be read is history.
  expect((await log.read(token('newer'))).newest?.type).toBe('withdrawn');
});

test('all aggregates of a kind are read, however many there are', async () => {
  const count = 1200;
  const what = { reason: 'Declared', message: 'm', section: aDeclaration() };
  const ids = Array.from({ length: count }, (_, at) => `many-${at}`);
  for (let start = 0; start < count; start += 100) {
    const some = ids.slice(start, start + 100);
    await Promise.all(
      some.map((id) =>
        log.append([draft(tokenDeclared, { aggregate: token(id), head: undefined }, what)], {
          correlation: 'test',
        }),
      ),
    );
  }
  const found = new Set((await log.readAll('token.*.*')).map(({ id }) => id));
  expect(ids.filter((id) => !found.has(id))).toEqual([]);
});

test('the last word of a writer is the last that can be read, and what cannot be is named and hides nothing', async () => {
  const ids = Array.from({ length: 1200 }, (_, index) => `word-${index}`);
  for (let start = 0; start < ids.length; start += 100)
    await Promise.all(ids.slice(start, start + 100).map((id) => declare(id, `${id}-old`)));
  await declare('word-7', 'word-7-new');
  const ended = { reason: 'R', message: 'm', section: aDeclaration({ name: 'word-8', withdrawn: true }) };
  await log.append([draft(tokenWithdrawn, await log.read(token('word-8')), ended)], { correlation: 'test' });
  for (const [subject, type, body] of [
    ['word-9.declared', 'nonsense', '{'],
    ['word-10.declared', 'dev.rollcall.token.declared.v2', '{}'],
    ['word-11.declared', 'dev.rollcall.token.declared.v1', ''],
    ['word-13.withdrawn', 'nonsense', '{'],
  ] as const) {
    const all = headers();
    all.set('ce-type', type);
    await nc.request(`rollcall.events.token.${subject}`, body, { headers: all, timeout: 5000 });
  }
  const before = openSubscriptions(nc);
  const found = new Map<string, { name?: unknown }>();
  const skipped: string[] = [];
  await log.lastWords(
    {
      kind: 'token',
      writers: ['approver'],
      having: 'declared',
      isWanted: (id) => id.startsWith('word-') && id !== 'word-12',
      onSkip: ({ code }, { id }) => skipped.push(`${id} ${code}`),
    },
    ({ id, type, section, sequence, decode }) => {
      expect(decode()).toMatchObject({ id, type, sequence, section: section as object });
      found.set(`${id} ${type}`, section as { name?: unknown });
    },
  );
  expect(openSubscriptions(nc)).toBe(before);
  const all = await Array.fromAsync(log.aggregates(['token', 'policy']));
  expect(all.filter(({ kind }) => kind !== 'token')).toEqual([]);
  expect(ids.filter((id) => !all.some((one) => one.id === id))).toEqual([]);
  expect(skipped.toSorted()).toEqual([
    'word-10 EVENT_VERSION_UNKNOWN',
    'word-11 EVENT_INVALID',
    'word-13 EVENT_INVALID',
    'word-9 EVENT_INVALID',
  ]);
  expect(found.get('word-7 declared')?.name).toBe('word-7-new');
  expect(found.get('word-8 withdrawn')?.name).toBe('word-8');
  expect(found.has('word-8 declared')).toBe(false);
  expect(found.get('word-13 declared')?.name).toBe('word-13-old');
  // Less the one that was not wanted, and three whose only word cannot be read.
  expect(found.size).toBe(ids.length - 4);
});

test('facts that a newer hub has stored are read without what is new in them', async () => {
  const registrar = await hub.connectAs('registrar');
  await registrar.request(
    'rollcall.facts.newer',
    JSON.stringify({
      platform: 'aws',
      invented: { later: true },
      nodes: { total: 3, ready: 3, schedulable: 3, idle: 1 },
    }),
    { timeout: 5000 },
  );
  const facts = openFactStore(registrar);
  const found = await facts.get('newer');
  expect(found?.facts).toEqual({ platform: 'aws', nodes: { total: 3, ready: 3, schedulable: 3 } });
});

test('facts of many clusters that are read at once are of each its own', async () => {
  const facts = openFactStore(await hub.connectAs('registrar'));
  const ids = Array.from({ length: 250 }, (_, index) => `many-${index}`);
  await Promise.all(ids.map((id) => facts.put(id, { region: id }, 1)));
  const found = await Promise.all([...ids, 'many-none'].map((id) => facts.get(id)));
  expect(found.map((one) => one?.facts.region)).toEqual([...ids, undefined]);
  await expect(facts.get('*')).rejects.toThrow('unsafe');
});

test('facts are forgotten, and newer ones are not', async () => {
  const facts = openFactStore(await hub.connectAs('registrar'));
  await facts.put('leaver', { platform: 'old' }, 1);
  const old = (await facts.get('leaver'))?.sequence ?? 0;
  await facts.put('leaver', { platform: 'new' }, 1);
  await facts.forget('leaver', old);
  const newest = await facts.get('leaver');
  expect(newest?.facts).toEqual({ platform: 'new' });
  await facts.forget('leaver', newest?.sequence ?? 0);
  expect(await facts.get('leaver')).toBeUndefined();
  const jsm = await jetstreamManager(await hub.connectAs('setup'));
  await until('nothing stands there any more', async () => {
    const { state } = await jsm.streams.info('FACTS', { subjects_filter: 'rollcall.facts.leaver' });
    return state.subjects === undefined || Object.keys(state.subjects).length === 0;
  });
});

test('what is left of a batch whose beginning went with its connection stores nothing, and is a conflict to be decided anew', async () => {
  const id = 'cut-off';
  const rest = headers();
  for (const [name, value] of [
    ['Nats-Batch-Id', id],
    ['Nats-Batch-Sequence', '3'],
    ['Nats-Batch-Commit', '1'],
  ] as const)
    rest.set(name, value);
  const subject = 'rollcall.events.token.batch.withdrawn';
  const begun = headers();
  begun.set('Nats-Batch-Id', id);
  begun.set('Nats-Batch-Sequence', '1');
  for (const beginning of [undefined, begun]) {
    if (beginning) nc.publish(subject, '{}', { headers: beginning });
    const refused = await jetstream(nc)
      .publish(subject, '{}', { headers: rest })
      .catch((cause: unknown) => asBusError(cause));
    expect(refused).toMatchObject({ code: 'APPEND_CONFLICT' });
  }
  expect((await log.read(token('batch'))).head).toBeUndefined();
});

test('while the server is away every call says so, and afterwards every call works again', async () => {
  await declare('away');
  const facts = openFactStore(await hub.connectAs('registrar'));
  await facts.put('id-1', { kubernetesVersion: 'v1.36.3' }, 1);
  await hub.natsServer.kill();
  const what = { reason: 'Declared', message: 'm', section: aDeclaration() };
  const away = draft(tokenDeclared, { aggregate: token('new'), head: undefined }, what);
  const calls = [
    log.read(token('away')),
    log.readAll('token.*.*'),
    log.scan({})[Symbol.asyncIterator]().next(),
    log.append([away], { correlation: 'test' }),
    log.append([away, { ...away, aggregate: token('newer') }], { correlation: 'test' }),
    facts.put('id-1', {}, 1),
    facts.get('id-1'),
  ];
  const outcomes = await Promise.allSettled(calls);
  for (const outcome of outcomes)
    expect(outcome).toMatchObject({ status: 'rejected', reason: { code: 'BUS_UNREACHABLE' } });
  await hub.natsServer.restart();
  const later = await hub.openLog('approver');
  expect((await later.read(token('away'))).head).toBeDefined();
});
