import { approved, clusterRecord, draft, requested } from '@rollcall/shared/events';
import type { KubeObject } from '@rollcall/shared/kubernetes';
import { keyFingerprint } from '@rollcall/shared/trust';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { aDecision, anIdentity } from '../tests/builders.ts';
import { setPeopleStage } from '../tests/people-stage.ts';

const names = Array.from({ length: 12 }, (_, index) => `c-${index + 1}`);
const object = (name: string, more: { metadata?: object; spec?: object }) =>
  ({
    apiVersion: 'rollcall.dev/v1alpha1',
    kind: 'ManagedCluster',
    metadata: {
      name,
      uid: `u-${name}`,
      generation: 2,
      resourceVersion: '9',
      labels: { 'rollcall.dev/cluster-id': name, 'rollcall.dev/created-by': 'projector' },
      finalizers: ['rollcall.dev/leave'],
      ...more.metadata,
    },
    spec: {
      clusterId: name,
      clusterType: 'Standard',
      mode: 'Pull',
      hubAcceptsClient: true,
      namespacePolicy: 'Delete',
      ...more.spec,
    },
    status: { observed: { epoch: 1, sequence: 1000 } },
  }) as unknown as KubeObject;
const deleted = (name: string) =>
  object(name, { metadata: { deletionTimestamp: '2026-11-21T12:00:00Z', deletionGracePeriodSeconds: 0 } });

let stage: ReturnType<typeof setPeopleStage>;
let isSomebodyComing = true;

beforeEach(() => {
  vi.useFakeTimers();
  isSomebodyComing = true;
  stage = setPeopleStage();
  for (const id of names) {
    const aggregate = { kind: 'cluster', id } as const;
    const record = () => clusterRecord(stage.recordOf(aggregate));
    const key = `K-${id}`;
    const identity = anIdentity({ state: 'admitted', admittedKey: key });
    const section = { ...identity, clusterId: id, clusterName: id, request: { ...identity.request, key } };
    stage.write(draft(requested, record(), { reason: 'R', message: 'm', section }));
    const decision = { ...aDecision({ verdict: 'approved', key, approvedKey: key }), clusterName: id };
    stage.write(draft(approved, record(), { reason: 'R', message: 'm', section: decision }));
  }
  stage.hear({ perMinute: 1000, arrivals: { areUnderWay: () => isSomebodyComing } });
});
afterEach(() => {
  stage.stop();
  vi.useRealTimers();
});

const count = (type: string) => stage.events.filter((event) => event.type === type).length;

/** All but the last, and streams are read between two timers. */
async function deleteMost(): Promise<void> {
  for (const name of names.slice(0, -1)) stage.watch('managedclusters').tell('ADDED', deleted(name));
  await vi.waitFor(() => expect(count('leaving')).toBeGreaterThan(0), { interval: 1 });
}

test('of a mass that is deleted while others join one leaves at once, and then two a second', async () => {
  await deleteMost();
  expect(count('leaving')).toBe(1);
  for (const left of [3, 5, 7, 9, 11]) {
    await vi.advanceTimersByTimeAsync(1000);
    expect(count('leaving')).toBe(left);
    expect(count('revoked')).toBe(left);
  }
});

test('who is revoked meanwhile does not wait behind them', async () => {
  await deleteMost();
  const last = names.at(-1) ?? '';
  const operation = { id: 'w1', verb: 'Revoke', keyFingerprint: keyFingerprint(`K-${last}`), by: 'anna' };
  const revoked = () => stage.recordOf({ kind: 'cluster', id: last });
  stage.watch('managedclusters').tell('ADDED', object(last, { spec: { operation } }));
  await vi.waitFor(() => expect(clusterRecord(revoked()).decision?.verdict).toBe('revoked'), { interval: 1 });
  expect(count('leaving')).toBeLessThan(names.length - 1);
});

test('where nobody joins they all leave at once', async () => {
  isSomebodyComing = false;
  await deleteMost();
  await vi.advanceTimersByTimeAsync(50);
  expect(count('leaving')).toBe(names.length - 1);
});
