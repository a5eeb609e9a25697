import type { StoredObject } from '@rollcall/shared/kubernetes';
import type { ClusterProfile, Condition, ManagedCluster } from '@rollcall/shared/resources';
import { expect, test } from 'vitest';
import { clusterProfileOf } from './cluster-profile.ts';

const nowMs = Date.UTC(2026, 0, 2);
const hubApi = { server: 'https://hub:6443/', caPem: 'CA' };
const known = { hubApi, nowMs };
const lastTransitionTime = '2026-01-01T00:00:00Z';
const condition = (type: string, status: Condition['status'], reason = 'Test'): Condition => ({
  type,
  status,
  reason,
  message: `of ${type}`,
  lastTransitionTime,
});
const inAndWell = [
  condition('Accepted', 'True'),
  condition('Joined', 'True'),
  condition('MemberHealthy', 'True', 'ProbesPass'),
];

function aCluster(
  status: Partial<NonNullable<ManagedCluster['status']>> = {},
  labels: Record<string, string> = {},
): ManagedCluster {
  return {
    apiVersion: 'rollcall.dev/v1alpha1',
    kind: 'ManagedCluster',
    metadata: { name: 'blue', labels },
    spec: { clusterType: 'Standard', mode: 'Pull', namespacePolicy: 'Delete' },
    status: { conditions: inAndWell, ...status },
  };
}

const asStored = (profile: object): StoredObject<ClusterProfile> => ({
  apiVersion: 'multicluster.x-k8s.io/v1alpha1',
  kind: 'ClusterProfile',
  metadata: { name: 'blue', namespace: 'team', uid: 'u', resourceVersion: '1' },
  ...(profile as Pick<ClusterProfile, 'spec'>),
});

test('a member: who it is, how it is, what it says', () => {
  const cluster = aCluster(
    {
      kubernetesVersion: 'v1.36.3',
      platform: 'linux/amd64',
      nodes: { total: 3 },
      capacity: { cpu: '12', memory: '48Gi' },
      clusterClaims: [
        { name: 'region.example.org', value: 'north' },
        { name: 'cluster.clusterset.k8s.io', value: 'known-as' },
        { name: 'platform.rollcall.dev', value: 'made up' },
      ],
    },
    { 'rollcall.dev/cluster-set': 'prod', team: 'a', 'x-k8s.io/cluster-manager': 'somebody' },
  );
  const lastObservedTime = '2026-01-02T00:00:00Z';
  expect(clusterProfileOf(cluster, undefined, known)).toEqual({
    labels: {
      team: 'a',
      'rollcall.dev/cluster-set': 'prod',
      'rollcall.dev/created-by': 'projector',
      'x-k8s.io/cluster-manager': 'rollcall',
      'multicluster.x-k8s.io/clusterset': 'prod',
    },
    spec: { displayName: 'blue', clusterManager: { name: 'rollcall' } },
    status: {
      conditions: [
        { ...condition('MemberHealthy', 'True', 'ProbesPass'), type: 'ControlPlaneHealthy' },
        condition('Joined', 'True'),
      ],
      version: { kubernetes: 'v1.36.3' },
      properties: [
        { name: 'cluster.clusterset.k8s.io', value: 'known-as', lastObservedTime },
        { name: 'clusterset.k8s.io', value: 'prod', lastObservedTime },
        { name: 'cpu.rollcall.dev', value: '12', lastObservedTime },
        { name: 'memory.rollcall.dev', value: '48Gi', lastObservedTime },
        { name: 'nodes.rollcall.dev', value: '3', lastObservedTime },
        { name: 'platform.rollcall.dev', value: 'linux/amd64', lastObservedTime },
        { name: 'region.example.org', value: 'north', lastObservedTime },
      ],
    },
  });
});

test.each([
  { name: 'one that has sent no heartbeat', joined: undefined, accepted: 'True', want: undefined },
  { name: 'a member', joined: 'True', accepted: 'True', want: 'True' },
  { name: 'one that was denied afterwards', joined: 'True', accepted: 'False', want: 'False' },
  { name: 'one whose other key waits', joined: 'True', accepted: 'Unknown', want: 'Unknown' },
] as const)('$name: Joined is $want', ({ joined, accepted, want }) => {
  const conditions = [condition('Accepted', accepted), condition('Joined', joined ?? 'Unknown', 'NeverSeen')];
  const profile = clusterProfileOf(aCluster({ conditions }), undefined, known);
  const found = profile?.status.conditions?.find(({ type }) => type === 'Joined');
  expect(found?.status).toBe(want);
});

test('whoever is in no set is in the one of the others', () => {
  const { labels } = clusterProfileOf(aCluster(), undefined, known) ?? {};
  expect(labels?.['multicluster.x-k8s.io/clusterset']).toBe('default');
});

test('what stays the same keeps its times, what changes has a new one', () => {
  const first = clusterProfileOf(aCluster({ platform: 'linux/amd64' }), undefined, known);
  const shown = asStored(first ?? {});
  const later = { hubApi, nowMs: nowMs + 5000 };
  expect(clusterProfileOf(aCluster({ platform: 'linux/amd64' }), shown, later)).toEqual(first);
  const moved = clusterProfileOf(aCluster({ platform: 'linux/arm64' }), shown, later);
  expect(moved?.status.properties?.map(({ lastObservedTime }) => lastObservedTime)).toEqual([
    '2026-01-02T00:00:00Z',
    '2026-01-02T00:00:00Z',
    '2026-01-02T00:00:05Z',
  ]);
});

test('what the kind does not take is left out, and takes nothing else along', () => {
  const clusterClaims = [
    { name: 'n'.repeat(254), value: 'a' },
    { name: 'long', value: 'v'.repeat(1025) },
    { name: 'longest', value: 'v'.repeat(1024) },
  ];
  const { status } = clusterProfileOf(aCluster({ clusterClaims }), undefined, known) ?? {};
  const names = status?.properties?.map(({ name }) => name);
  expect(names).toEqual(['cluster.clusterset.k8s.io', 'clusterset.k8s.io', 'longest']);
});

test('a hub without a member gateway shows no way into a member', () => {
  const profile = clusterProfileOf(aCluster({ memberAccess: 'as people: alice' }), undefined, {
    hubApi: undefined,
    nowMs,
  });
  expect(profile?.status).not.toHaveProperty('accessProviders');
});

test.each([
  { name: 'whose owner lets somebody in', status: { memberAccess: 'as people: alice' }, want: true },
  { name: 'whose owner lets nobody in', status: {}, want: false },
  {
    name: 'that is shut on the hub',
    status: { memberAccess: 'as people: alice' },
    spec: { memberAccess: 'Denied' as const },
    want: false,
  },
  {
    name: 'that was denied',
    status: {
      memberAccess: 'as people: alice',
      conditions: [condition('Accepted', 'False'), condition('Joined', 'True')],
    },
    want: false,
  },
])('the way to a member $name is shown: $want', ({ status, spec = {}, want }) => {
  const cluster = aCluster(status);
  const profile = clusterProfileOf({ ...cluster, spec: { ...cluster.spec, ...spec } }, undefined, known);
  const way = {
    name: 'rollcall',
    cluster: {
      server: 'https://hub:6443/apis/proxy.rollcall.dev/v1alpha1/managedclusters/blue/proxy',
      'certificate-authority-data': 'Q0E=',
    },
  };
  expect(profile?.status.accessProviders).toEqual(want ? [way] : undefined);
});
