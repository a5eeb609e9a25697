import { expect, test } from 'vitest';
import type { StoredObject } from '../kubernetes/index.ts';
import type { ManagedCluster } from '../resources/index.ts';
import { clusterRow } from './read-cluster.ts';

type Cluster = StoredObject<ManagedCluster & { metadata: object }>;
const at = '2026-11-27T12:00:00Z';
const condition = (type: string, status: string, reason: string) => ({
  type,
  status,
  reason,
  message: `why it is ${reason}`,
  lastTransitionTime: at,
});
const cluster = (conditions: object[], more: object = {}): Cluster =>
  ({
    apiVersion: 'rollcall.dev/v1alpha1',
    kind: 'ManagedCluster',
    metadata: { name: 'edge-1', uid: 'u', resourceVersion: '1', creationTimestamp: at, ...more },
    spec: { clusterId: 'id-1' },
    status: { conditions },
  }) as unknown as Cluster;

const accepted = condition('Accepted', 'True', 'PolicyApproved');

test.each([
  {
    name: 'its heartbeats come',
    conditions: [accepted, condition('Ready', 'True', 'Alive')],
    want: ['ready', 'Alive'],
  },
  {
    name: 'it has just fallen silent',
    conditions: [accepted, condition('Ready', 'Unknown', 'ConnectionLost')],
    want: ['unknown', 'ConnectionLost'],
  },
  {
    name: 'it is silent for the whole grace',
    conditions: [accepted, condition('Ready', 'False', 'Unreachable')],
    want: ['notReady', 'Unreachable'],
  },
  {
    name: 'it was never heard',
    conditions: [accepted, condition('Ready', 'Unknown', 'NeverSeen')],
    want: ['expected', 'NeverSeen'],
  },
  {
    name: 'it is banned, whatever its heartbeats say',
    conditions: [condition('Accepted', 'False', 'PersonBanned'), condition('Ready', 'True', 'Alive')],
    want: ['out', 'PersonBanned'],
  },
  { name: 'nothing is said of it yet', conditions: [], want: ['expected', 'NeverSeen'] },
])('$name: $want', ({ conditions, want }) => {
  const { state, reason } = clusterRow(cluster(conditions));
  expect([state, reason]).toEqual(want);
});

test('one that is being deleted is out', () => {
  const row = clusterRow(cluster([condition('Ready', 'True', 'Alive')], { deletionTimestamp: at }));
  expect([row.state, row.reason]).toEqual(['out', 'Leaving']);
});

test('labels of Rollcall are no labels of its own, and the set stands by itself', () => {
  const labels = { 'rollcall.dev/cluster-set': 'shops', 'rollcall.dev/cluster-id': 'id-1', region: 'eu' };
  expect(clusterRow(cluster([], { labels }))).toMatchObject({ set: 'shops', labels: { region: 'eu' } });
});

test('of one that is Ready as little is sent as is needed', () => {
  expect(clusterRow(cluster([accepted, condition('Ready', 'True', 'Alive')]))).toEqual({
    name: 'edge-1',
    id: 'id-1',
    state: 'ready',
    reason: 'Alive',
    sinceMs: Date.parse(at),
  });
});
