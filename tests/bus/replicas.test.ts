import { setTimeout as delay } from 'node:timers/promises';
import { type EventLog, openEventLog, readStream, seenOver } from '@rollcall/shared/bus';
import { draft, type StoredEvent, tokenDeclared } from '@rollcall/shared/events';
import type { NatsConnection } from '@nats-io/transport-node';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createFleetView, fleetAggregate } from '../../services/approver/fleet/fleet-view.ts';
import { until } from '../harness/embedded.ts';
import { aDeclaration } from '../harness/events.ts';
import { areAllCurrent } from '../harness/nats-nodes.ts';
import { startTestHub, type TestHub } from '../harness/test-hub.ts';

/**
 * On three servers any of them may answer a read, also one that is behind. To a reader who knows of an event that is not stored
 * yet, all of them are.
 */
let hub: TestHub;
let nc: NatsConnection;
let log: EventLog;
let other: EventLog;
beforeAll(async () => {
  hub = await startTestHub({ servers: 3 });
  nc = await hub.connectAs('approver');
  log = await openEventLog(nc, { epoch: 1, source: '/rollcall/approver' });
  other = await hub.openLog('approver');
  await until('all servers have all', () => areAllCurrent(nc));
});
afterAll(async () => {
  await hub?.[Symbol.asyncDispose]();
});

const token = (id: string) => ({ kind: 'token', id }) as const;

async function declare(id: string): Promise<number> {
  const what = { reason: 'Declared', message: 'm', section: aDeclaration({ name: id }) };
  const record = await other.read(token(id));
  await other.append([draft(tokenDeclared, record, what)], { correlation: 'test' });
  return (await other.read(token(id))).head?.sequence ?? 0;
}

/** This reader is told of the event after the newest one. */
async function tellOfNext(id: string): Promise<void> {
  const newest = await declare(`before-${id}`);
  seenOver(nc).note({ ...token(id), type: 'declared' }, newest + 1);
}

const isPending = async (reading: Promise<unknown>): Promise<boolean> =>
  (await Promise.race([reading, delay(100, 'pending')])) === 'pending';

test('all aggregates are read as new as what this process knows, although none of theirs is what it knows', async () => {
  await tellOfNext('known');
  const reading = log.readAll('policy.*.*');
  expect(await isPending(reading)).toBe(true);
  await declare('known');
  // What was asked for beside it, to know who answers, is no part of the answer.
  expect(await reading).toEqual([]);
});

test('a whole scan has no end before what this process knows of; another one ends with the server that answers', async () => {
  const idsIn = (events: readonly StoredEvent[]) => events.map(({ id }) => id);
  const scan = (isWhole: boolean) => Array.fromAsync(log.scan({ filter: 'token.scanned.*', isWhole }));
  await tellOfNext('scanned');
  expect(await scan(false)).toEqual([]);
  const reading = scan(true);
  expect(await isPending(reading)).toBe(true);
  await declare('scanned');
  expect(idsIn(await reading)).toEqual(['scanned']);
  expect(idsIn(await scan(true))).toEqual(['scanned']);
});

test('a history that is read whole, for a backup, does not end with the server that answers', async () => {
  const newest = await declare('whole');
  const sequences = async (through: number) =>
    (await Array.fromAsync(readStream(nc, 'EVENTS', through))).map(({ sequence }) => sequence);
  const reading = sequences(newest + 1);
  expect(await isPending(reading)).toBe(true);
  await declare('whole-too');
  expect((await reading).at(-1)).toBe(newest + 1);
  await expect(sequences(newest + 1000)).rejects.toMatchObject({ code: 'BUS_UNREACHABLE' });
});

test('who stays behind is no answer', async () => {
  const newest = await declare('far');
  const away = await hub.connectAs('approver');
  seenOver(away).note({ ...token('far'), type: 'declared' }, newest + 1000);
  const behind = await openEventLog(away, { epoch: 1, source: '/rollcall/approver' });
  const isRefused = { code: 'BUS_UNREACHABLE', retry: true };
  await Promise.all([
    expect(behind.readAll('policy.*.*')).rejects.toMatchObject(isRefused),
    expect(Array.fromAsync(behind.scan({ filter: 'token.far.*', isWhole: true }))).rejects.toMatchObject(
      isRefused,
    ),
  ]);
  // No server has it, not even the one that leads: the stream has lost its tail, and goes on without.
  expect(await behind.readAll('policy.*.*')).toEqual([]);
});

test('nobody is counted in before the newest approval that was counted can be read', async () => {
  const newest = await declare('fleet');
  const scans: string[] = [];
  let counted = newest + 5;
  const view = createFleetView({
    // The count is there, and the approval in the same batch is not.
    read: async (aggregate) => ({
      ...(await log.read(aggregate)),
      ...(aggregate.kind === fleetAggregate.kind
        ? { lastOf: { approver: { sequence: counted } as StoredEvent } }
        : {}),
    }),
    scan(options) {
      scans.push(options.filter ?? '');
      return log.scan(options);
    },
  });
  await expect(view.now(Date.now())).rejects.toMatchObject({ code: 'BUS_UNREACHABLE' });
  expect(scans.filter((filter) => filter === 'cluster.*.approved').length).toBeGreaterThan(2);
  // However often it is asked.
  await expect(view.now(Date.now())).rejects.toMatchObject({ code: 'BUS_UNREACHABLE' });
  // In a history with a hole something else stands there: that is not waited for again.
  counted = newest + 1;
  expect((await view.now(Date.now())).counts.clusters).toBe(0);
});
