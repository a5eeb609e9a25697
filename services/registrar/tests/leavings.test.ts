import { jetstreamManager } from '@nats-io/jetstream';
import type { EventLog } from '@rollcall/shared/bus';
import { loadConfig } from '@rollcall/shared/config';
import {
  type AggregateRecord,
  clusterRecord,
  deprovisioned,
  draft,
  type EventDraft,
  leaving,
} from '@rollcall/shared/events';
import { consumersOf } from '@rollcall/shared/rights';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { until } from '../../../tests/harness/embedded.ts';
import { aDecision, decideAs, requestAs } from '../../../tests/harness/events.ts';
import { startTestHub, type TestHub } from '../../../tests/harness/test-hub.ts';
import { configSchema, start } from '../main.ts';

let hub: TestHub;
let registrarLog: EventLog;
let approverLog: EventLog;
let provisionerLog: EventLog;
beforeAll(async () => {
  hub = await startTestHub();
  registrarLog = await hub.openLog('registrar');
  approverLog = await hub.openLog('approver');
  provisionerLog = await hub.openLog('rbac-provisioner');
});
afterAll(() => hub[Symbol.asyncDispose]());

async function startRegistrar(): Promise<{ stop(): Promise<void> }> {
  const values = hub.serviceSettings('registrar');
  const registrar = await start(loadConfig(configSchema, { flags: {}, environment: {}, values }));
  onTestFinished(() => registrar.stop());
  return registrar;
}

const batchSize = 100;

/** One event for each of these clusters, many at a time. */
async function appendToAll(
  log: EventLog,
  ids: readonly string[],
  of: (record: AggregateRecord) => EventDraft,
): Promise<void> {
  for (let from = 0; from < ids.length; from += batchSize) {
    const batch = ids.slice(from, from + batchSize);
    const records = await Promise.all(batch.map((id) => log.read({ kind: 'cluster', id })));
    await log.append(records.map(of), { correlation: 'test' });
  }
}

/** Clusters that leave: their access is gone, and their agents have time. */
async function leaveAll(ids: readonly string[], leaveUntilMs: number): Promise<void> {
  for (let from = 0; from < ids.length; from += batchSize)
    await Promise.all(ids.slice(from, from + batchSize).map((id) => requestAs(registrarLog, id, Date.now())));
  const why = { reason: 'R', message: 'm' };
  await appendToAll(approverLog, ids, (record) => {
    const { id } = record.aggregate;
    const operation = { verdict: 'leaving', requestId: `R-${id}`, key: `K-${id}`, leaveUntilMs } as const;
    return draft(leaving, record, {
      ...why,
      section: aDecision({ ...operation, clusterName: id, namespace: id }),
    });
  });
  await appendToAll(provisionerLog, ids, (record) => {
    const { id } = record.aggregate;
    const section = {
      state: 'deprovisioned',
      verdict: 'leaving',
      namespace: id,
      requestId: `R-${id}`,
      atMs: Date.now(),
    } as const;
    return draft(deprovisioned, record, { ...why, section });
  });
}

const namesOf = (prefix: string, count: number) =>
  Array.from({ length: count }, (_, at) => `${prefix}-${at}`);

const stateOf = async (id: string) =>
  clusterRecord(await approverLog.read({ kind: 'cluster', id })).identity?.state;

async function isEachOut(ids: readonly string[]): Promise<boolean> {
  const states = await Promise.all(ids.map(stateOf));
  return states.every((state) => state === 'left');
}

/** Everything that the registrars were given is acknowledged. */
async function isEverythingHandled(): Promise<boolean> {
  const jsm = await jetstreamManager(await hub.connectAsOperator());
  const infos = await Promise.all(
    consumersOf('registrar').map(({ name }) => jsm.consumers.info('EVENTS', name)),
  );
  return infos.every(({ num_pending, num_ack_pending }) => num_pending === 0 && num_ack_pending === 0);
}

test('1,100 clusters that leave at once keep nobody from being let in', async () => {
  const ids = namesOf('leaves', 1100);
  await leaveAll(ids, Date.now() + 3_600_000);
  await startRegistrar();
  await requestAs(registrarLog, 'new', Date.now());
  await decideAs(approverLog, 'new', 'approved');
  await until('the new one is admitted', async () => (await stateOf('new')) === 'admitted');
  const lefts = [];
  for await (const { id } of approverLog.scan({ filter: 'cluster.*.left' })) lefts.push(id);
  expect(lefts).toEqual([]);
  await until('nothing waits in the consumer', isEverythingHandled);
});

test('a leaving ends when the time of its agent is over, whichever replica had taken it and stopped', async () => {
  const [first, second] = [await startRegistrar(), await startRegistrar()];
  const taken = namesOf('taken', 40);
  await leaveAll(taken, Date.now() + 6000);
  await until('all is handled', isEverythingHandled);
  await first.stop();
  const kept = namesOf('kept', 5);
  await leaveAll(kept, Date.now() + 4000);
  await until('all is handled', isEverythingHandled);
  await second.stop();
  await startRegistrar();
  const all = [...taken, ...kept];
  await until('each has left', () => isEachOut(all));
  const lefts = [];
  for await (const { id } of approverLog.scan({ filter: 'cluster.*.left' })) lefts.push(id);
  expect(lefts.toSorted()).toEqual(all.toSorted());
});
