import { setTimeout as delay } from 'node:timers/promises';
import { jetstream } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import { openEventLog, streamState } from '@rollcall/shared/bus';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { WalkBeyond } from '../../libs/shared/bus/reads/aggregate-ids.ts';
import { walkMessages } from '../../libs/shared/bus/reads/walk-messages.ts';
import { startTestHub, type TestHub } from '../harness/test-hub.ts';

/** Lists of subjects: the server puts all that match into order for each page, so what is asked for is little, and waited for. */
let hub: TestHub;
let nc: NatsConnection;
/** The filters that were asked for. */
const asked: string[] = [];
const openLog = (walkBeyond?: WalkBeyond) =>
  openEventLog(nc, { epoch: 1, source: '/rollcall/projector', ...(walkBeyond ? { walkBeyond } : {}) });

async function write(subjects: readonly string[]): Promise<void> {
  const operator = await hub.connectAsOperator();
  const js = jetstream(operator);
  const written = subjects.map((subject, index) =>
    index % 500 === 0 || index === subjects.length - 1
      ? js.publish(`rollcall.events.${subject}`, 'x', { timeout: 60_000 })
      : operator.publish(`rollcall.events.${subject}`, 'x'),
  );
  await Promise.all(written);
  await operator.close();
}

beforeAll(async () => {
  hub = await startTestHub();
  const real = await hub.connectAs('projector');
  const request: NatsConnection['request'] = (subject, payload, options) => {
    const question = Buffer.from(payload ?? '').toString() || '{}';
    const { subjects_filter: filter } = JSON.parse(question) as { subjects_filter?: string };
    if (filter !== undefined) asked.push(filter);
    return real.request(subject, payload, options);
  };
  nc = Object.create(real, { request: { value: request } }) as NatsConnection;
});
afterAll(async () => {
  await hub?.[Symbol.asyncDispose]();
});

test('a list is of what things begin with, however much has happened to them, and what is shown of nothing is not listed', async () => {
  const types = ['requested', 'approved', 'admitted', 'provisioned', 'joined', 'unreachable', 'ready'];
  await write([
    ...types.map((type) => `cluster.c-1.${type}`),
    'cluster.c-2.refused',
    'cluster.c-3.predefined',
    'cluster.c-4.banned',
    'cluster.made-up.admitted',
    'name.edge-1.taken',
    'key.u1.taken',
    'token.t-1.declared',
    'token.t-1.used',
  ]);
  asked.length = 0;
  const log = await openLog();
  const found = await Array.fromAsync(log.aggregates(['cluster', 'token', 'policy']));
  const names = [...new Set(found.map(({ kind, id }) => `${kind}/${id}`))];
  expect(names.toSorted()).toEqual([
    'cluster/c-1',
    'cluster/c-2',
    'cluster/c-3',
    'cluster/c-4',
    'cluster/made-up',
    'token/t-1',
  ]);
  expect(
    asked.filter((filter) => !/\.(requested|refused|predefined|banned|admitted|declared)$/.test(filter)),
  ).toEqual([]);
});

test('a list of more than one page is whole, also while the server stands still for longer than a question waits', async () => {
  const count = 100_100;
  await write(Array.from({ length: count }, (_, index) => `token.many-${index}.declared`));
  const log = await openLog();
  const pid = hub.natsServer.pid();
  const found = new Set<string>();
  let isStopped = false;
  for await (const { id } of log.aggregates(['token'])) {
    found.add(id);
    if (isStopped) continue;
    isStopped = true;
    process.kill(pid, 'SIGSTOP');
    void delay(6000).then(() => process.kill(pid, 'SIGCONT'));
  }
  expect(found.has('many-0') && found.has(`many-${count - 1}`)).toBe(true);
  expect([...found].filter((id) => id.startsWith('many-'))).toHaveLength(count);
}, 300_000);

test('a walk takes each message under its filter once, wherever they stand, and also of a server that stood still', async () => {
  const walked = (index: number) => `cluster.w-${index % 900}.requested`;
  const others = (index: number) => `cluster.other-${index % 50}.ready`;
  await write([
    ...Array.from({ length: 3000 }, (_, index) => (index % 3 === 0 ? walked(index / 3) : others(index))),
    ...Array.from({ length: 7000 }, (_, index) => others(index)),
    'cluster.w-last.requested',
    ...Array.from({ length: 3000 }, (_, index) => others(index)),
  ]);
  const { lastSequence: throughSequence } = await streamState(nc, 'EVENTS');
  const pid = hub.natsServer.pid();
  const found: { subject: string; sequence: number }[] = [];
  const filter = 'rollcall.events.cluster.*.requested';
  await walkMessages(nc, { stream: 'EVENTS', filter, throughSequence }, ({ subject, sequence }) => {
    if (!subject.includes('.w-')) return;
    found.push({ subject, sequence });
    if (found.length !== 1) return;
    process.kill(pid, 'SIGSTOP');
    void delay(6000).then(() => process.kill(pid, 'SIGCONT'));
  });
  expect(found).toHaveLength(1001);
  expect(new Set(found.map(({ sequence }) => sequence)).size).toBe(1001);
  expect(new Set(found.map(({ subject }) => subject)).size).toBe(901);
}, 120_000);

test('the last words of a fleet cost lists of what it has, and none of each type', async () => {
  asked.length = 0;
  const log = await openLog();
  const query = {
    kind: 'cluster',
    writers: ['registrar', 'approver', 'heartbeat'],
    having: 'admitted',
  } as const;
  await log.lastWords(query, () => undefined);
  expect(asked).toEqual(['rollcall.events.cluster.*.admitted']);
});

test('beyond as many subjects as are set nothing is listed, and what is found is the same', async () => {
  const ids = Array.from({ length: 1500 }, (_, index) => `switch-${index}`);
  await write(ids.flatMap((id) => [`policy.${id}.declared`, `policy.${id}.declared`]));
  await write(ids.flatMap((id) => [`cluster.${id}.requested`, `cluster.${id}.admitted`]));
  const [listing, walking] = [await openLog(), await openLog({ subjects: 100, events: 1000 })];
  const query = { kind: 'cluster', writers: ['registrar'], having: 'admitted' } as const;

  async function read(log: Awaited<ReturnType<typeof openLog>>) {
    const skipped: string[] = [];
    const onSkip = (_error: unknown, { id, sequence }: { id: string; sequence: number }) =>
      void skipped.push(`${id} ${sequence}`);
    const aggregates = await Array.fromAsync(log.aggregates(['cluster', 'policy']));
    await log.readAll('policy.*.declared', { onSkip });
    await log.readAll('policy.*.*', { onSkip });
    await log.lastWords({ ...query, onSkip }, () => undefined);
    const names = aggregates.map(({ kind, id }) => `${kind}/${id}`);
    return { names: [...new Set(names)].toSorted(), skipped: skipped.toSorted() };
  }
  asked.length = 0;
  const listed = await read(listing);
  const lists = asked.length;
  asked.length = 0;
  expect(await read(walking)).toEqual(listed);
  // Types that few have are listed still.
  expect(asked.filter((filter) => /\.(requested|admitted|declared)$/.test(filter))).toEqual([]);
  expect(lists).toBeGreaterThan(asked.length);
  expect(listed.names.length).toBeGreaterThanOrEqual(3000);
  // What was written is no event, so that what is read of it is given to who hears of what cannot be decoded.
  expect(listed.skipped.length).toBeGreaterThanOrEqual(4500);
}, 120_000);

test('the word of who spoke once is spared where the others have said it, and no more once events were archived', async () => {
  await write([
    ...['once', 'silent', 'twice', 'again', 'gone'].flatMap((id) => [
      `cluster.spared-${id}.requested`,
      `cluster.spared-${id}.admitted`,
      `cluster.spared-${id}.approved`,
    ]),
    'cluster.spared-twice.requested',
    'cluster.spared-again.admitted',
    'cluster.spared-gone.left',
  ]);
  const log = await openLog();
  async function wordsOfWriter(): Promise<string[]> {
    const read: string[] = [];
    const query = {
      kind: 'cluster',
      writers: ['registrar', 'approver'],
      having: 'admitted',
      before: 'requested',
      isWanted: (id: string) => id.startsWith('spared-'),
      isSpared: (id: string) => id !== 'spared-silent',
      onSkip: (_error: unknown, { id, type }: { id: string; type: string }) =>
        void read.push(`${id} ${type}`),
    } as const;
    await log.lastWords(query, () => undefined);
    expect(read.filter((word) => word.endsWith('approved'))).toHaveLength(5);
    return read.filter((word) => word.endsWith('admitted')).toSorted();
  }
  const notSpared = ['again', 'gone', 'silent', 'twice'].map((id) => `spared-${id} admitted`);
  expect(await wordsOfWriter()).toEqual(notSpared);
  await write(['hub.archive.archived']);
  expect(await wordsOfWriter()).toEqual([...notSpared, 'spared-once admitted'].toSorted());
}, 120_000);
