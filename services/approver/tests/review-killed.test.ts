import { connectBus, type EventLog, openEventLog } from '@rollcall/shared/bus';
import { clusterRecord, epochAggregate, epochRecord, type StoredEvent } from '@rollcall/shared/events';
import { type KubeObject, resources } from '@rollcall/shared/kubernetes';
import { keyFingerprint } from '@rollcall/shared/trust';
import { afterAll, beforeAll, expect, test } from 'vitest';
import pino from 'pino';
import { beginSecondEpoch } from '../../../tests/attacks/second-epoch.ts';
import { serviceUser } from '../../../tests/harness/control-plane.ts';
import { decideAs, declarePolicy } from '../../../tests/harness/events.ts';
import { reviewRestored } from '../restore/review-restored.ts';
import { type ApproverWorld, startWorld } from './approver-world.ts';

/** The approver of a restored hub dies while it looks at what Kubernetes shows, when it has seen a part of it. */
const names = Array.from({ length: 30 }, (_, index) => `revoked-${index}`);
const seenBeforeItDies = 10;
let world: ApproverWorld;
let log: EventLog;
let approverLog: EventLog;

/** In the backup it is let in; Kubernetes shows a later word, that it is out. */
async function aRevokedMember(name: string, keyOf: (clusterName: string) => Promise<string>): Promise<void> {
  const key = await keyOf(name);
  await decideAs(await world.hub.openLog('approver'), name, 'approved');
  await world.showCluster(name);
  const condition = {
    type: 'Accepted',
    status: 'False',
    reason: 'PersonRevoked',
    message: '',
    lastTransitionTime: '2026-11-21T12:00:00Z',
  };
  const status = {
    observed: { epoch: 1, sequence: 500_000 },
    keyFingerprint: keyFingerprint(key),
    conditions: [condition],
  };
  const projector = world.plane.clientFor(serviceUser('projector'));
  const labels = { 'rollcall.dev/created-by': 'projector', 'rollcall.dev/cluster-id': name };
  await projector.mergePatch<KubeObject>(resources.managedClusters, name, { metadata: { labels } });
  await projector.mergePatch(resources.managedClusters, name, { status }, { subresource: 'status' });
  projector.close();
}

beforeAll(async () => {
  world = await startWorld();
  const keyOf = async (name: string) => (await world.request(name)).key;
  for (let at = 0; at < names.length; at += 10)
    await Promise.all(names.slice(at, at + 10).map((name) => aRevokedMember(name, keyOf)));
  await declarePolicy(await world.hub.openLog('approver'), { name: 'everybody', when: 'true' });
  await world.makePolicy('everybody', [{ name: 'r', when: 'true', effect: 'Approve' }]);
  await world.request('eager');
  await beginSecondEpoch(world.hub, 'approver', Date.now());
  const connect = (user: 'inspector' | 'approver') =>
    connectBus(world.hub.address, world.hub.credentialsOf(user), user);
  log = await openEventLog(await connect('inspector'), { epoch: 2, source: '/rollcall/test' });
  approverLog = await openEventLog(await connect('approver'), { epoch: 2, source: '/rollcall/approver' });
});
afterAll(() => world?.[Symbol.asyncDispose]());

/** As the process does before anything else, until nothing that it appends arrives any more. */
async function lookAndDie(): Promise<void> {
  let appended = 0;
  const dying: EventLog = {
    ...approverLog,
    append: (...batch) =>
      appended++ < seenBeforeItDies
        ? approverLog.append(...batch)
        : Promise.reject(new Error('the process is dead')),
  };
  const client = world.plane.clientFor(serviceUser('approver'));
  const heartbeat = { intervalSeconds: 15, graceSeconds: 45 };
  const logger = pino({ level: 'silent' });
  const looking = reviewRestored({ log: dying, client, logger, heartbeat, nowMs: Date.now });
  await expect(looking).rejects.toThrow('the process is dead');
  client.close();
}
const isReviewed = async () => epochRecord(await log.read(epochAggregate)).isReviewed;
async function verdicts(): Promise<string[]> {
  const records = await Promise.all(
    names.map(async (id) => clusterRecord(await log.read({ kind: 'cluster', id }))),
  );
  return records.map(({ decision }) => `${decision?.verdict} ${decision?.reason}`);
}

test('nothing is decided before all of it was looked at, and the next start looks at the rest', async () => {
  await lookAndDie();
  const revoked = async () =>
    (await verdicts()).filter((verdict) => verdict === 'revoked RestoredFromProjection').length;
  // What was on its way when it died arrives all the same.
  await expect.poll(revoked).toBe(seenBeforeItDies);
  expect(await isReviewed()).toBe(false);
  expect(clusterRecord(await log.read({ kind: 'cluster', id: 'eager' })).decision).toBeUndefined();

  await world.startApprover();
  const eager = async () => clusterRecord(await log.read({ kind: 'cluster', id: 'eager' })).decision?.verdict;
  await expect.poll(eager, { timeout: 60_000 }).toBe('approved');
  expect(new Set(await verdicts())).toEqual(new Set(['revoked RestoredFromProjection']));
  const events: StoredEvent[] = [];
  for await (const event of log.scan({})) if (event.epoch === 2) events.push(event);
  const types = events.map(({ id, type }) => `${type} ${id}`);
  expect(types.indexOf('approved eager')).toBeGreaterThan(types.indexOf('restore-reviewed epoch'));
  // Each once, however often it was begun.
  expect(types.filter((type) => type.startsWith('revoked '))).toHaveLength(names.length);
});
