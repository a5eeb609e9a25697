import { expect, test } from 'vitest';
import { isOfCluster, readAuditWrites, writeKindOf } from './audit-writes.ts';

const line = (over: Record<string, unknown> = {}) =>
  JSON.stringify({
    verb: 'patch',
    requestURI: '/apis/rollcall.dev/v1alpha1/managedclusters/c1/status',
    user: { username: 'system:serviceaccount:rollcall-system:rollcall-projector' },
    objectRef: { resource: 'managedclusters', subresource: 'status', name: 'c1' },
    responseStatus: { code: 200 },
    requestReceivedTimestamp: '2026-01-01T00:00:00.001500Z',
    stageTimestamp: '2026-01-01T00:00:00.004250Z',
    ...over,
  });

test('a line that is still being written is left out', () => {
  expect(readAuditWrites(`${line()}\n${line().slice(0, 40)}`)).toHaveLength(1);
});

test('times keep their microseconds', () => {
  const [write] = readAuditWrites(`${line()}\n`);
  expect((write?.repliedAtMs ?? 0) - (write?.receivedAtMs ?? 0)).toBeCloseTo(2.75);
});

test.each([
  { name: 'status of a cluster', over: {}, want: 'cluster' },
  {
    name: 'status of a token',
    over: { objectRef: { resource: 'clusterregistrationtokens', subresource: 'status', name: 't' } },
    want: 'coalesced',
  },
  { name: 'a dry run', over: { requestURI: '/x?dryRun=All' }, want: 'dry-run' },
  {
    name: 'a controller',
    over: { user: { username: 'system:kube-controller-manager' } },
    want: 'kubernetes',
  },
  { name: 'a person', over: { user: { username: 'rollcall-admin' } }, want: 'people' },
  { name: 'a lease of ours', over: { objectRef: { resource: 'leases', name: 'l' } }, want: 'other' },
])('$name counts as $want', ({ over, want }) => {
  expect(readAuditWrites(`${line(over)}\n`).map(writeKindOf)).toEqual([want]);
});

test('what lies in the namespace of a cluster is its own', () => {
  const objectRef = { resource: 'rolebindings', namespace: 'c1', name: 'rollcall-member' };
  const [write] = readAuditWrites(`${line({ objectRef })}\n`);
  expect(write && isOfCluster(write, 'c1')).toBe(true);
  expect(write && isOfCluster(write, 'c2')).toBe(false);
});
