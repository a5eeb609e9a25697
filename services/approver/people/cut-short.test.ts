import { setTimeout as delay } from 'node:timers/promises';
import { clusterRecord, nameRecord } from '@rollcall/shared/events';
import type { KubeObject } from '@rollcall/shared/kubernetes';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { clusterId } from '../tests/builders.ts';
import { aMomentMs, setPeopleStage } from '../tests/people-stage.ts';
import type { Listening } from './user-changes.ts';

const object = (metadata: object = {}) =>
  ({
    apiVersion: 'rollcall.dev/v1alpha1',
    kind: 'ManagedCluster',
    metadata: { name: 'alpha', uid: 'u1', generation: 1, resourceVersion: '1', labels: {}, ...metadata },
    spec: { clusterId, clusterType: 'Standard', mode: 'Pull', namespacePolicy: 'Delete' },
  }) as unknown as KubeObject;

let stage: ReturnType<typeof setPeopleStage>;
let listening: Listening;
const tell = (type: 'ADDED' | 'DELETED', metadata?: object) =>
  stage.watch('managedclusters').tell(type, object(metadata));
const types = () => stage.events.map(({ type }) => type);
const until = (...wanted: readonly string[]) =>
  vi.waitFor(() => expect(types()).toEqual(wanted), { interval: 1 });

beforeEach(async () => {
  stage = setPeopleStage();
  listening = stage.hear();
  tell('ADDED');
  await until('predefined', 'reserved');
});
afterEach(() => stage.stop());

test('what a person deletes before the projector has put our finalizer on it ends, and its name is free', async () => {
  tell('DELETED');
  await until('predefined', 'reserved', 'leaving', 'released');
  expect(nameRecord(stage.recordOf({ kind: 'name', id: 'alpha' })).holder).toBeUndefined();
});

test('it ends for itself: another one of that name, made at once after it, is declared anew', async () => {
  tell('DELETED');
  tell('ADDED', { uid: 'u2', resourceVersion: '3' });
  await until('predefined', 'reserved', 'leaving', 'released', 'predefined', 'reserved');
  expect(nameRecord(stage.recordOf({ kind: 'name', id: 'alpha' })).holder).toBe(clusterId);
});

test('while the admission policies do not hold it waits, although nothing shows it any more', async () => {
  stage.missing = 'rollcall-operation is missing';
  tell('DELETED');
  await vi.waitFor(() => expect(stage.looks).toBeGreaterThan(1), { interval: 1 });
  expect(types()).toEqual(['predefined', 'reserved']);
  stage.missing = undefined;
  listening.lookAgain();
  await until('predefined', 'reserved', 'leaving', 'released');
});

test('it waits also where they hold at the first look at them, and not at the one before it is written', async () => {
  const looked = stage.looks;
  stage.before.look = () => void (stage.missing = 'rollcall-operation is missing');
  tell('DELETED');
  await vi.waitFor(() => expect(stage.looks).toBeGreaterThanOrEqual(looked + 2), { interval: 1 });
  await delay(aMomentMs);
  expect(types()).toEqual(['predefined', 'reserved']);
  stage.before.look = () => undefined;
  stage.missing = undefined;
  listening.lookAgain();
  await until('predefined', 'reserved', 'leaving', 'released');
});

test('what had our finalizer is only missing, and is made again', async () => {
  tell('DELETED', { finalizers: ['rollcall.dev/leave'] });
  listening.lookAgain();
  // Comes after whatever the line above would have begun.
  stage
    .watch('managedclusters')
    .tell('ADDED', { ...object({ name: 'beta', uid: 'u3' }), spec: { clusterId: 'other' } } as KubeObject);
  await vi.waitFor(
    () => expect(clusterRecord(stage.recordOf({ kind: 'cluster', id: 'other' })).decision).toBeDefined(),
    { interval: 1 },
  );
  expect(types().slice(0, 3)).not.toContain('leaving');
});
