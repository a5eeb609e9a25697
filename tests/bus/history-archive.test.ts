import { mkdtempSync, readdirSync, rmSync, truncateSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { jetstreamManager } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import { deleteEvents, readArchived, setUpStreams, streamState } from '@rollcall/shared/bus';
import { type ServiceName, serviceRoles } from '@rollcall/shared/rights';
import { afterAll, expect, test } from 'vitest';
import { archiveEvents, checkMayDelete, finishArchive } from '../../cli/history/write-archive.ts';
import { watchHistory } from '../../libs/shared/service/watch-history.ts';
import { startHubOfTest } from '../harness/hub-of-test.ts';
import type { TestHub } from '../harness/test-hub.ts';

/** Who may take events out of the stream, and say that they are missing on purpose (ADR 16). */
let hub: TestHub;
let operator: NatsConnection;
let archiver: NatsConnection;
const directory = mkdtempSync(join(tmpdir(), 'rollcall-archive-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

async function start(servers: 1 | 3): Promise<void> {
  hub = await startHubOfTest({ servers });
  operator = await hub.connectAsOperator();
  archiver = await hub.connectWith(hub.credentialsOf('archive'), 'archive');
  for (const id of ['one', 'two', 'three'])
    await operator.request(`rollcall.events.name.${id}.taken`, '{}', { timeout: 5000 });
}

test('the user of an archiving deletes single events, and no service does or says that they are archived', async () => {
  await start(1);
  const say = 'rollcall.events.hub.archive.archived';
  const drop = '$JS.hub.API.STREAM.MSG.DELETE.EVENTS';
  for (const name of [...(Object.keys(serviceRoles) as ServiceName[]), 'ops', 'inspector'] as const) {
    const nc = await hub.connectAs(name);
    for (const subject of [say, drop, drop.replace('.hub', '')])
      await expect(
        nc.request(subject, '{"seq":1}', { timeout: 2000 }),
        `${name}: ${subject}`,
      ).rejects.toThrow(/permissions violation/i);
  }
  expect((await streamState(archiver, 'EVENTS')).messages).toBe(3);
  expect(await readArchived(archiver)).toBeUndefined();

  expect(await deleteEvents(archiver, [2])).toBe(1);
  expect(await streamState(archiver, 'EVENTS')).toMatchObject({ messages: 2, lastSequence: 3 });
  for (const other of ['STREAM.PURGE.EVENTS', 'STREAM.DELETE.EVENTS', 'STREAM.MSG.DELETE.FACTS'])
    await expect(archiver.request(`$JS.hub.API.${other}`, '{"seq":1}', { timeout: 2000 })).rejects.toThrow(
      /permissions violation/i,
    );
});

test('garbage, and what is of no known version, is no word that events are archived', async () => {
  await start(1);
  await operator.request('rollcall.events.hub.archive.archived', '{"section":{"ofEpoch":1000}}', {
    timeout: 5000,
  });
  expect(await readArchived(archiver)).toBeUndefined();
});

test('a stream of an earlier version lets nobody delete: set-up goes on with it, and an archiving says so', async () => {
  await start(1);
  const jsm = await jetstreamManager(operator);
  const { config } = await jsm.streams.info('EVENTS');
  await jsm.streams.update('EVENTS', { ...config, deny_delete: true });
  await setUpStreams(await hub.connectAs('setup'), { replicas: 1 });
  expect((await jsm.streams.info('EVENTS')).config.deny_delete).toBe(true);
  await expect(checkMayDelete(archiver)).rejects.toMatchObject({ code: 'USAGE' });
  await expect(deleteEvents(archiver, [1])).rejects.toMatchObject({ code: 'BUS_UNREACHABLE' });
});

test.each([1, 3] as const)(
  'on %i server(s), who watches the history misses nothing that an archive has, and one event more',
  async (servers) => {
    await start(servers);
    if (servers === 3) await setUpStreams(await hub.connectAs('setup'), { replicas: 3 });
    const subject = 'rollcall.events.hub.interval.interval-changed';
    for (let count = 0; count < 50; count++) await operator.request(subject, '{}', { timeout: 5000 });
    const { hubId, epoch } = hub.hub;
    const logger = { info: () => undefined, warn: () => undefined, error: () => undefined };
    const watches = (await Promise.all((['approver', 'registrar'] as const).map(hub.connectAs))).map((nc) =>
      watchHistory(nc, { epoch, logger }),
    );
    for (const watch of watches) expect((await watch.look())?.missing).toBe(0);
    const nowMs = Date.now() + 60_000;
    const how = { directory, olderThanMs: nowMs, nowMs, operator: 'a test' };
    const report = await archiveEvents({ nc: archiver, hubId, epoch }, how);
    expect(report?.events).toBe(49);
    for (const watch of watches) expect((await watch.look())?.missing).toBe(0);
    await deleteEvents(archiver, [1]);
    for (const watch of watches) await expect(watch.look()).rejects.toMatchObject({ code: 'HISTORY_LOST' });
    for (const watch of watches) watch.stop();
  },
);

const logger = { info: () => undefined, warn: () => undefined, error: () => undefined };
const old = () => ({ nowMs: Date.now() + 60_000, olderThanMs: Date.now() + 60_000, operator: 'a test' });
const toArchive = (nc: NatsConnection) => ({ nc, hubId: hub.hub.hubId, epoch: hub.hub.epoch });
const emptyDirectory = () => mkdtempSync(join(directory, 'run-'));

async function changeInterval(times: number): Promise<void> {
  for (let count = 0; count < times; count++)
    await operator.request('rollcall.events.hub.interval.interval-changed', '{}', { timeout: 5000 });
}

/** As if it were killed before one of its requests: of a run, deletions and what it notes are all that changes anything. */
function killedBefore(change: number): NatsConnection {
  let count = 0;
  return new Proxy(archiver, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      return (...args: unknown[]): unknown => {
        const changes = name === 'request' && /MSG\.DELETE|events\.hub\.archive/.test(String(args[0]));
        if (changes && ++count > change) return Promise.reject(new Error('killed'));
        return Reflect.apply(value, target, args);
      };
    },
  });
}

test('killed before any of its changes, nobody misses an event, and the next run ends it', async () => {
  await start(1);
  const watch = watchHistory(await hub.connectAs('registrar'), { epoch: hub.hub.epoch, logger });
  for (const change of [0, 1, 2, 6, 11]) {
    await changeInterval(11);
    const where = emptyDirectory();
    await expect(
      archiveEvents(toArchive(killedBefore(change)), { directory: where, ...old() }),
    ).rejects.toThrow('killed');
    expect((await watch.look())?.missing).toBe(0);
    // Killed before the first, there is a file that nobody names, and the next run makes another.
    const next =
      change === 0
        ? await archiveEvents(toArchive(archiver), { directory: emptyDirectory(), ...old() })
        : await finishArchive(toArchive(archiver), where);
    expect(next?.events).toBeGreaterThan(0);
    expect((await watch.look())?.missing).toBe(0);
  }
  const { messages, lastSequence } = await streamState(archiver, 'EVENTS');
  expect((await readArchived(archiver))?.total).toBe(lastSequence - messages);
  watch.stop();
});

test('a file that was cut or lost half-way stops the run, and one that gives it up archives what is left', async () => {
  await start(1);
  const watch = watchHistory(await hub.connectAs('registrar'), { epoch: hub.hub.epoch, logger });
  await changeInterval(20);
  const where = emptyDirectory();
  await expect(archiveEvents(toArchive(killedBefore(6)), { directory: where, ...old() })).rejects.toThrow(
    'killed',
  );
  const [file = ''] = readdirSync(where);
  truncateSync(join(where, file), 200);
  await expect(finishArchive(toArchive(archiver), where)).rejects.toMatchObject({ code: 'BACKUP_INVALID' });
  rmSync(join(where, file));
  await expect(finishArchive(toArchive(archiver), where)).rejects.toMatchObject({ code: 'USAGE' });
  const again = { directory: where, ...old() };
  await expect(archiveEvents(toArchive(archiver), again)).rejects.toMatchObject({ code: 'APPEND_CONFLICT' });

  const wrong = { ...again, giveUp: 'another.archive' };
  await expect(archiveEvents(toArchive(archiver), wrong)).rejects.toMatchObject({ code: 'APPEND_CONFLICT' });
  const report = await archiveEvents(toArchive(archiver), { ...again, giveUp: file });
  expect(report?.events).toBeGreaterThan(0);
  const { messages, lastSequence } = await streamState(archiver, 'EVENTS');
  expect(await readArchived(archiver)).toMatchObject({
    total: lastSequence - messages,
    ofEpoch: lastSequence - messages,
    isDone: true,
  });
  expect((await watch.look())?.missing).toBe(0);
  // Nothing was made room for: one more is missed.
  await changeInterval(1);
  await deleteEvents(archiver, [lastSequence]);
  await expect(watch.look()).rejects.toMatchObject({ code: 'HISTORY_LOST' });
  watch.stop();
});

test('a stream without room for one event more is not archived, says what it takes, and keeps no file', async () => {
  await start(1);
  await changeInterval(40);
  const jsm = await jetstreamManager(operator);
  const { config, state } = await jsm.streams.info('EVENTS');
  await jsm.streams.update('EVENTS', { ...config, max_bytes: state.bytes + 10 });
  const where = emptyDirectory();
  const run = () => archiveEvents(toArchive(archiver), { directory: where, ...old() });
  await expect(run()).rejects.toMatchObject({
    code: 'DISK_FULL',
    message: expect.stringContaining('a few MiB more'),
  });
  expect(readdirSync(where)).toEqual([]);
  expect(await readArchived(archiver)).toBeUndefined();
  await jsm.streams.update('EVENTS', { ...config, max_bytes: state.bytes + 65_536 });
  expect((await run())?.events).toBe(39);
});
