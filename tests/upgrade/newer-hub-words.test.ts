import { jetstream } from '@nats-io/jetstream';
import { headers, type NatsConnection } from '@nats-io/transport-node';
import { deleteEvents, openEventLog, readArchived, readEpoch, streamState } from '@rollcall/shared/bus';
import { loadConfig } from '@rollcall/shared/config';
import { draft, epochAggregate, intervalAggregate, restored } from '@rollcall/shared/events';
import type { ServiceName } from '@rollcall/shared/rights';
import type { RunningService } from '@rollcall/shared/service';
import pino from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { z } from 'zod';
import { watchHistory } from '../../libs/shared/service/watch-history.ts';
import * as heartbeat from '../../services/heartbeat/main.ts';
import * as registrar from '../../services/registrar/main.ts';
import * as accountController from '../../services/account-controller/main.ts';
import { startTestHub, type TestHub } from '../harness/test-hub.ts';

/** After going back, the last words about the hub itself are of a version that nobody here knows: all start, and go on without. */
let hub: TestHub;
let operator: NatsConnection;
beforeAll(async () => {
  hub = await startTestHub();
  operator = await hub.connectAsOperator();
});
afterAll(() => hub[Symbol.asyncDispose]());

async function sayAsNewer(id: string, type: string, source: string): Promise<number> {
  const meta = headers();
  meta.set('ce-type', `dev.rollcall.hub.${type}.v2`);
  meta.set('ce-source', `/rollcall/${source}`);
  const body = JSON.stringify({ epoch: 1, section: {} });
  const subject = `rollcall.events.hub.${id}.${type}`;
  return (await jetstream(operator).publish(subject, body, { headers: meta })).seq;
}

interface Service {
  readonly configSchema: z.ZodObject;
  start(config: never): Promise<RunningService>;
}
const services: Partial<Record<ServiceName, Service>> = {
  'account-controller': accountController,
  heartbeat,
  registrar,
};

async function startAndStop(name: ServiceName, service: Service): Promise<string> {
  const values = hub.serviceSettings(name);
  const config = loadConfig(service.configSchema, { flags: {}, environment: {}, values }) as never;
  await using running = await service.start(config).then((started) => ({
    ...started,
    [Symbol.asyncDispose]: () => started.stop(),
  }));
  return running.notReady() ?? 'ready';
}
async function startAll(): Promise<Record<string, string>> {
  const states: Record<string, string> = {};
  for (const [name, service] of Object.entries(services))
    states[name] = await startAndStop(name as ServiceName, service);
  return states;
}
const allReady = { 'account-controller': 'ready', heartbeat: 'ready', registrar: 'ready' };

test('services start without the words of a newer version, and say nothing after them', async () => {
  expect(await startAll()).toEqual(allReady);
  const last = {
    trust: await sayAsNewer('trust', 'trust-announced', 'account-controller'),
    interval: await sayAsNewer(intervalAggregate.id, 'interval-changed', 'heartbeat'),
    epoch: await sayAsNewer(epochAggregate.id, 'restore-reviewed', 'approver'),
  };
  expect(await startAll()).toEqual(allReady);
  const log = await hub.openLog('registrar');
  for (const [id, sequence] of Object.entries(last)) {
    const { head } = await log.read({ kind: 'hub', id }, { unknownAsGarbage: true });
    expect(head?.sequence, id).toBe(sequence);
  }
});

test('that the hub was reviewed after a restore is known by the type alone, and what is in it is not', async () => {
  const log = await hub.openLog('approver');
  expect(await readEpoch(log)).toMatchObject({ isReviewed: true, unreadable: expect.any(Number) });
  const restoring = await hub.connectWith(hub.credentialsOf('restore'), 'restore');
  const restore = await openEventLog(restoring, { epoch: 1, source: '/rollcall/restore' });
  const section = { epoch: 2, throughSequence: 1, backupTakenAtMs: 1 };
  const record = await restore.read(epochAggregate, { unknownAsGarbage: true });
  await restore.append([draft(restored, record, { reason: 'Restored', message: 'm', section })], {
    correlation: 'test',
  });
  expect(await readEpoch(log)).toMatchObject({ isReviewed: false, restored: { epoch: 2 } });
  await sayAsNewer(epochAggregate.id, 'restore-reviewed', 'approver');
  expect(await readEpoch(log)).toMatchObject({ isReviewed: true, restored: { epoch: 2 }, spent: [] });
});

test('what a newer version has archived is no loss', async () => {
  const archiver = await hub.connectWith(hub.credentialsOf('archive'), 'archive');
  const said = await sayAsNewer('archive', 'archived', 'archive');
  expect(await deleteEvents(archiver, [1])).toBe(1);
  expect(await readArchived(archiver)).toMatchObject({ isOfNewerVersion: true, throughSequence: said });
  const logger = pino({ level: 'silent' });
  const watch = watchHistory(await hub.connectAs('registrar'), { epoch: hub.hub.epoch, logger });
  expect((await watch.look())?.missing).toBe(0);
  // What comes after that word is missed as ever.
  const { lastSequence } = await streamState(archiver, 'EVENTS');
  await sayAsNewer('any', 'any', 'archive');
  await watch.look();
  await deleteEvents(archiver, [lastSequence + 1]);
  await expect(watch.look()).rejects.toMatchObject({ code: 'HISTORY_LOST' });
  watch.stop();
});
