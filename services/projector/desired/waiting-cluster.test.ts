import type { ManagedCluster } from '@rollcall/shared/resources';
import { expect, test } from 'vitest';
import { aDecision, aMember, anIdentity, aRecord, clusterId } from '../tests/cluster-record.builder.ts';
import { desiredCluster } from './desired-cluster.ts';

const held = aDecision({ verdict: 'held', reason: 'NoRuleMatched', message: 'no policy names it' });
const waiting = { identity: anIdentity(), decision: held };
const observed = { epoch: 1, sequence: 2, digest: 'sha256:x' };
const named = { 'rollcall.dev/changed-by': 'anna' };

type Accepted = NonNullable<NonNullable<ManagedCluster['status']>['conditions']>[number];
const shown = (
  reason: string,
  status: Accepted['status'] = 'False',
): { observed: typeof observed; conditions: Accepted[] } => ({
  observed,
  conditions: [
    {
      type: 'Accepted',
      status,
      reason,
      message: '',
      lastTransitionTime: '2026-01-01T00:00:02.000Z',
    },
  ],
});
const anObject = (more: {
  spec?: Partial<ManagedCluster['spec']>;
  annotations?: Record<string, string>;
  status?: object;
}): ManagedCluster =>
  ({
    apiVersion: 'rollcall.dev/v1alpha1',
    kind: 'ManagedCluster',
    metadata: { name: 'blue', annotations: more.annotations ?? named },
    spec: { clusterId, clusterType: 'Standard', mode: 'Pull', namespacePolicy: 'Delete', ...more.spec },
    ...(more.status ? { status: more.status } : {}),
  }) as ManagedCluster;

function conditions(
  sections: Parameters<typeof aRecord>[0],
  current?: ManagedCluster,
): Record<string, string> {
  const wanted = desiredCluster(aRecord(sections), undefined, current);
  const found = wanted.presence === 'present' ? (wanted.status.conditions ?? []) : [];
  return Object.fromEntries(found.map(({ type, status, reason }) => [type, `${status} ${reason}`]));
}

test('a request that waits has a cluster that is not accepted, and says why', () => {
  expect(conditions(waiting)).toMatchObject({ Accepted: 'False NoRuleMatched', Ready: 'Unknown Held' });
});

const spec = { hubAcceptsClient: true };
test.each([
  { name: 'unset', current: anObject({ status: shown('NoRuleMatched') }), want: 'NoRuleMatched' },
  {
    name: 'set after the request was shown',
    current: anObject({ spec, status: shown('NoRuleMatched') }),
    want: 'NoRuleMatched',
  },
  { name: 'set before anything was shown', current: anObject({ spec }), want: 'AcceptNotHeard' },
  {
    name: 'set before this decision was shown',
    current: anObject({ spec, status: { ...shown('Denied'), observed: { ...observed, sequence: 1 } } }),
    want: 'AcceptNotHeard',
  },
  {
    name: 'void before, and still there',
    current: anObject({ spec, status: shown('AcceptNotHeard') }),
    want: 'AcceptNotHeard',
  },
  {
    name: 'void before, and a request that was called off for a moment',
    current: anObject({ spec, status: shown('NoRuleMatched', 'Unknown') }),
    want: 'AcceptNotHeard',
  },
  {
    name: 'void before, and taken away',
    current: anObject({ status: shown('AcceptNotHeard') }),
    want: 'NoRuleMatched',
  },
  {
    name: 'set, and nobody knows by whom',
    current: anObject({ spec, annotations: {}, status: shown('NoRuleMatched') }),
    want: 'AcceptNotHeard',
  },
])('hubAcceptsClient while a request waits: $name → $want', ({ current, want }) => {
  expect(conditions(waiting, current)['Accepted']).toBe(`False ${want}`);
});

test.each([
  { name: 'of another key of who is in', decision: { ...held, approvedKey: 'KEY0' } },
  { name: 'of a key that false took', decision: { ...held, withdrawnKey: 'KEY0' } },
])('a request $name says nothing else of the cluster than before', ({ decision }) => {
  const sections = aMember({ decision });
  expect(conditions(sections, anObject({ spec }))['Accepted']).not.toContain('AcceptNotHeard');
});
