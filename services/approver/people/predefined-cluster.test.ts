import {
  approved,
  type ClusterRecord,
  clusterRecord,
  type EventDraft,
  foldRecord,
  leaving,
  nameRecord,
  type NameRecord,
  nameReleased,
  nameReserved,
  predefined,
} from '@rollcall/shared/events';
import { leaveFinalizer } from '@rollcall/shared/resources';
import { expect, test } from 'vitest';
import type { ClusterObject } from './cluster-change.ts';
import { decideRequest } from '../requests/decide-request.ts';
import { decidePredefined } from './predefined-cluster.ts';
import { decideNameRelease } from '../decision/events-after-decision.ts';
import {
  aDecision,
  anIdentity,
  aRecord,
  aRequest,
  clusterId,
  heartbeat,
  nowMs,
  stored,
} from '../tests/builders.ts';

const own = {
  labels: { env: 'prod', team: 'a' },
  spec: {
    clusterId,
    clusterType: 'Edge',
    mode: 'Pull',
    namespacePolicy: 'Keep',
    access: 'None',
    unschedulable: true,
    taints: [{ key: 'k', effect: 'NoSchedule' }],
    heartbeat: { intervalSeconds: 60, graceSeconds: 300 },
  },
} as const;

const anObject = (
  metadata: Partial<ClusterObject['metadata']> = {},
  spec: Partial<ClusterObject['spec']> = {},
): ClusterObject =>
  ({
    apiVersion: 'rollcall.dev/v1alpha1',
    kind: 'ManagedCluster',
    metadata: { name: 'alpha', uid: 'u1', resourceVersion: '1', labels: { ...own.labels }, ...metadata },
    spec: { ...own.spec, ...spec },
  }) as ClusterObject;

const nothing = clusterRecord(foldRecord({ kind: 'cluster', id: clusterId }, []));
const nameAfter = (...drafts: EventDraft[]): NameRecord =>
  nameRecord(
    foldRecord(
      { kind: 'name', id: 'alpha' },
      drafts
        .filter(({ aggregate }) => aggregate.kind === 'name')
        .map((each, index) => stored(each, index + 1)),
    ),
  );
const clusterAfter = (...drafts: EventDraft[]): ClusterRecord =>
  clusterRecord(
    foldRecord(
      { kind: 'cluster', id: clusterId },
      drafts
        .filter(({ aggregate }) => aggregate.kind === 'cluster')
        .map((each, index) => stored(each, index + 1)),
    ),
  );

const decide = (object: ClusterObject, record = nothing, name = nameAfter()): EventDraft[] =>
  decidePredefined({ record, name, object, heartbeat, nowMs });
const types = (drafts: readonly EventDraft[]) => drafts.map(({ definition }) => definition);

const first = decide(anObject());
const adopted = {
  labels: { ...own.labels, 'rollcall.dev/cluster-id': clusterId },
  finalizers: [leaveFinalizer],
};

test('what a person made is declared with its name, all or nothing, as the person wrote it', () => {
  expect(types(first)).toEqual([predefined, nameReserved]);
  expect(first[0]?.section).toMatchObject({
    verdict: 'predefined',
    clusterName: 'alpha',
    labels: own.labels,
    namespacePolicy: 'Keep',
    unschedulable: true,
    heartbeat: own.spec.heartbeat,
    predefined: { clusterType: 'Edge', mode: 'Pull' },
  });
});

test('it is declared once, and again when it changes', () => {
  const [record, name] = [clusterAfter(...first), nameAfter(...first)];
  expect(decide(anObject(adopted), record, name)).toEqual([]);
  expect(types(decide(anObject(adopted, { unschedulable: false }), record, name))).toEqual([predefined]);
});

test('deleted before anybody claimed it, it is gone and its name is free', () => {
  const deleted = anObject({ ...adopted, deletionTimestamp: '2026-11-21T12:00:00Z' });
  const gone = decide(deleted, clusterAfter(...first), nameAfter(...first));
  expect(types(gone)).toEqual([leaving, nameReleased]);
  const [record, name] = [clusterAfter(...first, ...gone), nameAfter(...first, ...gone)];
  expect(name.holder).toBeUndefined();
  expect(decide(deleted, record, name)).toEqual([]);
  // A late watch may show it as it was before.
  expect(decide(anObject(), record, name)).toEqual([]);
  expect(types(decide(anObject({ uid: 'u2' }), record, name))).toEqual([predefined, nameReserved]);
});

test.each([
  { name: 'another cluster has the id', object: anObject({ name: 'beta' }), record: clusterAfter(...first) },
  { name: 'an agent of this id has asked already', object: anObject(), record: aRecord(anIdentity()) },
  {
    name: 'the object shows a cluster that has left',
    object: anObject(adopted),
    record: aRecord(anIdentity({ state: 'left' }), {
      definition: leaving,
      section: aDecision({ verdict: 'leaving', approvedKey: undefined }),
    }),
  },
  {
    name: 'it is being deleted and nothing was ever declared',
    object: anObject({ deletionTimestamp: '2026-11-21T12:00:00Z' }),
    record: nothing,
  },
])('nothing follows where $name', ({ object, record }) => {
  expect(decide(object, record)).toEqual([]);
});

/** The predefined cluster, and the request of its agent, with what its token gives. */
function claimed(): ClusterRecord {
  const request = aRequest({ labels: { env: 'test', zone: 'z' }, clusterSet: 'of-token' });
  const asked = aRecord(anIdentity({ request }));
  const section = { ...(first[0]?.section as ReturnType<typeof aDecision>), clusterSet: 'of-person' };
  return { ...asked, decision: section };
}

test('approved, it keeps the words of the person; token and rule only add to them', () => {
  const rule = {
    name: 'r',
    when: 'true',
    effect: 'Approve' as const,
    labels: { team: 'b', tier: 'x' },
    clusterSet: 'of-person',
  };
  const outcome = {
    kind: 'evaluated' as const,
    matches: [{ policy: 'p', generation: 1, rule }],
    failures: [],
  };
  const [decision] = decideRequest({ record: claimed(), outcome, heartbeat, nowMs });
  expect(decision?.definition).toBe(approved);
  expect(decision?.section).toMatchObject({
    verdict: 'approved',
    approvedKey: 'K1',
    labels: { env: 'prod', team: 'a', zone: 'z', tier: 'x' },
    clusterSet: 'of-person',
    namespacePolicy: 'Keep',
    unschedulable: true,
    taints: own.spec.taints,
    heartbeat: own.spec.heartbeat,
    predefined: { clusterType: 'Edge' },
  });
});

test('held, it stays what it is until somebody decides', () => {
  const outcome = { kind: 'evaluated' as const, matches: [], failures: [] };
  const [decision] = decideRequest({ record: claimed(), outcome, heartbeat, nowMs });
  expect(decision?.section).toMatchObject({
    verdict: 'held',
    clusterSet: 'of-person',
    predefined: { mode: 'Pull' },
  });
});

test('a name that was reserved anew is not released for the cluster that has left', () => {
  const cluster = {
    ...aRecord(anIdentity({ state: 'left' })),
    decision: first[0]?.section as ReturnType<typeof aDecision>,
  };
  expect(decideNameRelease({ name: nameAfter(...first), cluster })).toEqual([]);
});
