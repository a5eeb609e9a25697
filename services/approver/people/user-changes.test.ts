import { setTimeout as delay } from 'node:timers/promises';
import {
  banned,
  clusterRecord,
  denied,
  draft,
  refused as refusedEvent,
  revoked,
  unbanned,
} from '@rollcall/shared/events';
import type { KubeObject } from '@rollcall/shared/kubernetes';
import { keyFingerprint } from '@rollcall/shared/trust';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { aDecision, anIdentity, clusterId, History, nowMs } from '../tests/builders.ts';
import { aMomentMs, setPeopleStage } from '../tests/people-stage.ts';
import { decideRevocation } from '../decision/events-after-decision.ts';

const unproven = [{ object: 'managedclusters/alpha', word: 'accepts:true' }];
/** Shut out by a person; the key is listed as taken back, and its `revoked` is due. */
const withdrawn = aDecision({
  verdict: 'denied',
  reason: 'AccessWithdrawn',
  withdrawnKey: 'K1',
  decidedAtMs: nowMs - 1000,
  revokedKeys: [{ key: 'K1', atMs: nowMs - 1000 }],
});
const cluster = (version: number, spec: object) =>
  ({
    apiVersion: 'rollcall.dev/v1alpha1',
    kind: 'ManagedCluster',
    metadata: {
      name: 'alpha',
      uid: 'u1',
      generation: version,
      resourceVersion: String(version),
      labels: { env: 'test', 'rollcall.dev/cluster-id': clusterId, 'rollcall.dev/created-by': 'projector' },
    },
    spec: { clusterId, clusterType: 'Standard', mode: 'Pull', namespacePolicy: 'Delete', ...spec },
    status: { observed: { epoch: 1, sequence: version } },
  }) as unknown as KubeObject;
const letsIn = (version: number) => cluster(version, { hubAcceptsClient: true });

let stage: ReturnType<typeof setPeopleStage>;
function hear(words: Parameters<typeof setPeopleStage>[0]): void {
  stage = setPeopleStage(words);
  const history = new History().identity(anIdentity({ state: 'admitted', admittedKey: 'K1' }));
  history.apply([draft(denied, history.record, { reason: 'R', message: 'm', section: withdrawn })]);
  stage.events.push(...history.events);
  stage.hear();
}
beforeEach(() => hear([]));
afterEach(() => stage.stop());

const record = () => clusterRecord(stage.recordOf({ kind: 'cluster', id: clusterId }));
const types = () => stage.events.map(({ type }) => type);
/** At the read of that number another replica has just said what was due. */
function settleAtRead(number: number): void {
  let reads = 0;
  stage.before.read = () => {
    if (++reads === number) stage.write(...decideRevocation(record()));
  };
}

test.each([1, 2, 3])(
  'who is let in again while the policies are down stays out, also where the revocation that was due comes at read %i',
  async (read) => {
    stage.missing = 'rollcall-operation is missing';
    settleAtRead(read);
    stage.watch('managedclusters').tell('ADDED', letsIn(2));
    await delay(2 * aMomentMs);
    expect(types()).toEqual(['requested', 'denied', revoked.type]);
    expect(stage.looks).toBeGreaterThan(0);
  },
);

test('with the policies in place they are let in after the revocation that was due', async () => {
  stage.watch('managedclusters').tell('ADDED', letsIn(2));
  await vi.waitFor(() => expect(types()).toEqual(['requested', 'denied', revoked.type, 'approved']));
});

test('a word that does not count is not acted on while a version without it comes in', async () => {
  stage.stop();
  hear(unproven);
  stage.write(...decideRevocation(record()));
  stage.watch('managedclusters').tell('ADDED', letsIn(2));
  stage.before.read = async () => {
    stage.before.read = () => undefined;
    stage.watch('managedclusters').tell('MODIFIED', cluster(3, {}));
    await delay(aMomentMs);
  };
  await delay(2 * aMomentMs);
  expect(types()).toEqual(['requested', 'denied', revoked.type]);
});

test.each([
  { name: 'nothing else is known' },
  { name: 'the agent asked in vain meanwhile', refused: true },
  { name: 'a person had laid the cluster down', isOfPerson: true },
])('a ban that a restore took over is taken back, also where $name', async ({ refused, isOfPerson }) => {
  stage.stop();
  stage = setPeopleStage([]);
  const on = { aggregate: { kind: 'cluster', id: clusterId }, head: undefined } as const;
  const what = { reason: 'PersonBanned', message: 'm' };
  const { requestId: _none, key: _nobody, ...section } = aDecision({ verdict: 'banned' });
  stage.write(draft(banned, on, { ...what, section }));
  if (refused) stage.write(draft(refusedEvent, on, { ...what, section: anIdentity({ state: 'refused' }) }));
  stage.hear();
  const operation = { id: 'w1', verb: 'Unban', keyFingerprint: keyFingerprint('K1'), by: 'anna' };
  const { metadata, ...object } = cluster(2, { operation });
  const labels = isOfPerson ? { 'rollcall.dev/cluster-id': clusterId } : { ...metadata.labels };
  stage.watch('managedclusters').tell('ADDED', { ...object, metadata: { ...metadata, labels } });
  await vi.waitFor(() => expect(types().at(-1)).toBe('unbanned'));
  expect(record().decision).toMatchObject({ verdict: 'held', operations: ['w1'] });
});

test.each([{ isOfPerson: false }, { isOfPerson: true }])(
  'a cluster of which nothing but a ban was known can be deleted once that is taken back (of a person: $isOfPerson)',
  async ({ isOfPerson }) => {
    stage.stop();
    stage = setPeopleStage([]);
    const on = { aggregate: { kind: 'cluster', id: clusterId }, head: undefined } as const;
    const { requestId: _none, key: _nobody, ...section } = aDecision({ verdict: 'held', reason: 'Unbanned' });
    stage.write(draft(unbanned, on, { reason: 'Unbanned', message: 'm', section }));
    stage.hear();
    const { metadata, ...object } = cluster(2, {});
    const labels = isOfPerson ? { 'rollcall.dev/cluster-id': clusterId } : { ...metadata.labels };
    const deleted = { deletionTimestamp: '2026-11-21T12:00:00Z', finalizers: ['rollcall.dev/leave'] };
    stage
      .watch('managedclusters')
      .tell('ADDED', { ...object, metadata: { ...metadata, labels, ...deleted } });
    await vi.waitFor(() => expect(types().at(-1)).toBe('leaving'));
    expect(record().decision).toMatchObject({ verdict: 'leaving', leavingUid: 'u1' });
    await delay(aMomentMs);
    expect(types()).toEqual(['unbanned', 'leaving']);
  },
);
