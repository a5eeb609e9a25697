import { expect, test } from 'vitest';
import type { ForeignCluster } from './foreign-cluster.ts';
import type { ForeignSet, SetSelector } from './foreign-set.ts';
import { type HubNow, planImport } from './import-plan.ts';

const aForeign = (parts: Partial<ForeignCluster> = {}): ForeignCluster => ({
  source: 'ManagedCluster/edge-1',
  name: 'edge-1',
  id: { clientId: 'edge-1' },
  labels: {},
  settings: {},
  notes: [],
  ...parts,
});
const noHub: HubNow = { clusters: [], sets: [] };
const having = (name: string, spec: object): HubNow => ({
  ...noHub,
  clusters: [{ metadata: { name }, spec } as HubNow['clusters'][number]],
});
const aSet = (name: string, type: 'ExclusiveLabel' | 'LabelSelector') =>
  ({ metadata: { name }, spec: { selector: { type } } }) as HubNow['sets'][number];

test('a cluster is made with id, labels, set and settings, and its set before it', () => {
  const foreign = aForeign({
    id: { clusterId: 'uid-1' },
    labels: { env: 'prod' },
    clusterSet: 'emea',
    settings: { unschedulable: true },
    notes: ['one'],
  });
  const plan = planImport(
    [foreign, aForeign({ name: 'b', id: { clientId: 'b' }, clusterSet: 'emea' })],
    noHub,
  );
  expect(plan.sets).toMatchObject([{ name: 'emea', action: 'make', object: { metadata: { name: 'emea' } } }]);
  expect(plan.clusters[0]).toMatchObject({
    action: 'make',
    notes: ['one'],
    object: {
      metadata: { name: 'edge-1', labels: { env: 'prod', 'rollcall.dev/cluster-set': 'emea' } },
      spec: { clusterId: 'uid-1', unschedulable: true },
    },
  });
  expect(plan.clusters[1]).toMatchObject({ action: 'make', object: { metadata: { name: 'b' } } });
});

test.each([
  { name: 'a name with a dot', foreign: { name: 'a.b' }, says: /"a\.b" cannot be the name/ },
  { name: 'a name that is too long', foreign: { name: 'n'.repeat(64) }, says: /at most 63/ },
  { name: 'a reserved name', foreign: { name: 'kube-edge' }, says: /"kube-edge" is reserved/ },
  {
    name: 'an id that is too long',
    foreign: { id: { clientId: 'i'.repeat(254) } },
    says: /more than 253 characters/,
  },
  {
    name: 'a name that another cluster has',
    hub: having('edge-1', { clusterId: 'other' }),
    says: /the name "edge-1" belongs to the cluster id "other"/,
  },
  {
    name: 'an id that another cluster has',
    hub: having('other', { clusterId: 'edge-1' }),
    says: /the cluster id "edge-1" is that of the cluster "other"/,
  },
  {
    name: 'a name that somebody gave to a cluster without an id',
    hub: having('edge-1', {}),
    says: /has no id yet/,
  },
])('$name is refused in words', ({ foreign = {}, hub = noHub, says }) => {
  const { clusters, sets } = planImport([aForeign({ clusterSet: 'x', ...foreign })], hub);
  expect(clusters).toMatchObject([{ action: 'refuse', why: expect.stringMatching(says) }]);
  expect(sets).toEqual([]);
});

test('one that cannot be read is refused alone', () => {
  const odd = { source: 'Cluster/a/odd', name: 'odd', why: 'metadata.labels.a: a number' };
  const { clusters } = planImport([odd, aForeign()], noHub);
  expect(clusters).toMatchObject([{ ...odd, action: 'refuse' }, { action: 'make' }]);
});

test('what is there already stays as it is, by either id', () => {
  for (const spec of [{ clientId: 'edge-1' }, { clusterId: 'edge-1' }])
    expect(planImport([aForeign()], having('edge-1', spec)).clusters).toMatchObject([{ action: 'leave' }]);
});

test('of two with one name, as in two namespaces of Fleet, the second is refused', () => {
  const { clusters } = planImport(
    [aForeign(), aForeign({ source: 'Cluster/b/edge-1', id: { clientId: 'two' } })],
    noHub,
  );
  expect(clusters.map(({ action }) => action)).toEqual(['make', 'refuse']);
});

test.each([
  { clusterSet: 'emea', sets: [aSet('emea', 'ExclusiveLabel')], want: 'emea', notes: [] },
  {
    clusterSet: 'emea',
    sets: [aSet('emea', 'LabelSelector')],
    want: undefined,
    notes: ['set "emea" selects clusters by their labels here, so it is put into none'],
  },
  {
    clusterSet: 'Emea_1',
    sets: [],
    want: undefined,
    notes: ['"Emea_1" cannot be the name of a set here: it is in none'],
  },
])('set $clusterSet, where the hub has $sets.length: put into $want', ({ clusterSet, sets, want, notes }) => {
  const plan = planImport([aForeign({ clusterSet })], { ...noHub, sets });
  expect(plan.sets).toEqual([]);
  const [made] = plan.clusters;
  if (made?.action !== 'make') throw new Error('it is made');
  expect(made.object.metadata.labels?.['rollcall.dev/cluster-set']).toBe(want);
  expect(made.notes).toEqual(notes);
});

const aForeignSet = (parts: Partial<ForeignSet> = {}): ForeignSet => ({
  source: 'ManagedClusterSet/emea',
  name: 'emea',
  selector: { type: 'ExclusiveLabel' },
  notes: [],
  ...parts,
});
const byLabels: SetSelector = { type: 'LabelSelector', labelSelector: { matchLabels: { env: 'prod' } } };

test.each([
  { name: 'a new one is made as it is', set: { selector: byLabels }, want: { action: 'make', notes: [] } },
  {
    name: 'one that is there stays',
    sets: [aSet('emea', 'ExclusiveLabel')],
    want: { action: 'leave', notes: [] },
  },
  {
    name: 'one that is there with another selector stays, and that is said',
    set: { selector: byLabels },
    sets: [aSet('emea', 'ExclusiveLabel')],
    want: { action: 'leave', notes: ['it has another selector here'] },
  },
  {
    name: 'one with a name that is none here',
    set: { name: 'a.b' },
    want: { action: 'refuse', why: '"a.b" cannot be the name of a set here' },
  },
  {
    name: 'one whose selector is none here',
    set: { selector: 'why' },
    want: { action: 'refuse', why: 'why' },
  },
])('sets: $name', ({ set = {}, sets = [], want }) => {
  const plan = planImport([], { ...noHub, sets }, [aForeignSet(set)]);
  expect(plan.sets).toMatchObject([want]);
});

test.each([
  {
    selector: byLabels,
    want: undefined,
    notes: ['set "emea" selects clusters by their labels here, so it is put into none'],
  },
  {
    selector: 'why',
    want: undefined,
    notes: ['set "emea" cannot be taken over, so it is put into none'],
  },
  { selector: { type: 'ExclusiveLabel' } as const, want: 'emea', notes: [] },
])('a cluster of a set that comes along, $selector: put into $want', ({ selector, want, notes }) => {
  const plan = planImport([aForeign({ clusterSet: 'emea' })], noHub, [aForeignSet({ selector })]);
  expect(plan.sets).toHaveLength(1);
  const [made] = plan.clusters;
  if (made?.action !== 'make') throw new Error('it is made');
  expect(made.object.metadata.labels?.['rollcall.dev/cluster-set']).toBe(want);
  expect(made.notes).toEqual(notes);
});
