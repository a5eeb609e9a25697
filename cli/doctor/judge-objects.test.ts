import type { Condition } from '@rollcall/shared/resources';
import { expect, test } from 'vitest';
import { judgePolicies, judgeRequests, judgeTokens } from './judge-objects.ts';

const nowMs = Date.parse('2026-11-21T12:00:00Z');
const minute = 60_000;

interface RequestParts {
  result?: string;
  reason?: string;
  ageMs?: number;
}
const aRequest = (name: string, { result, reason = 'R', ageMs = 0 }: RequestParts) =>
  ({
    metadata: { name: `id-${name}`, creationTimestamp: new Date(nowMs - ageMs).toISOString() },
    spec: { clusterName: name },
    ...(result === undefined ? {} : { status: { result, reason } }),
  }) as Parameters<typeof judgeRequests>[0][number];

test.each([
  { name: 'none', requests: [], want: [['ok', 'none is held']] },
  {
    name: 'one that is held',
    requests: [aRequest('a', { result: 'Held' })],
    want: [['finding', '1 held for a person: a']],
  },
  {
    name: 'those that failed',
    requests: 'abc'.split('').map((one) => aRequest(one, { result: 'Failed', reason: 'NameTaken' })),
    want: [
      ['ok', 'none is held'],
      ['finding', '3 failed: a (NameTaken), b (NameTaken), c (NameTaken)'],
    ],
  },
  {
    name: 'one that may still be judged',
    requests: [aRequest('a', { result: 'Pending', ageMs: 5 * minute })],
    want: [['ok', 'none is held']],
  },
  {
    name: 'those that nobody judges, with a status and without',
    requests: [
      aRequest('a', { result: 'Pending', ageMs: 5 * minute + 1 }),
      aRequest('b', { ageMs: 6 * minute }),
    ],
    want: [
      ['ok', 'none is held'],
      ['finding', '2 not judged after 5 minutes: a, b'],
    ],
  },
  {
    name: 'old ones that are decided',
    requests: [aRequest('a', { result: 'Approved', ageMs: 60 * minute })],
    want: [['ok', 'none is held']],
  },
])('requests: $name', ({ requests, want }) => {
  expect(judgeRequests(requests, nowMs).map(({ outcome, message }) => [outcome, message])).toEqual(want);
});

const having = (
  name: string,
  ...conditions: [type: string, status: Condition['status'], reason: string][]
) => ({
  metadata: { name, namespace: 'rollcall-join' },
  status: {
    conditions: conditions.map(([type, status, reason]) => ({
      type,
      status,
      reason,
      message: '',
      lastTransitionTime: '2026-11-21T12:00:00Z',
    })),
  },
});

test.each([
  { name: 'none', policies: [], want: [['ok', '0, none with a mistake']] },
  {
    name: 'good ones, and one that is not read yet',
    policies: [
      having('a', ['Ready', 'True', 'InForce'], ['Warning', 'False', 'NoWarning']),
      having('b', ['Ready', 'Unknown', 'NotJudged']),
    ],
    want: [['ok', '2, none with a mistake']],
  },
  {
    name: 'one with a mistake, one with a warning',
    policies: [
      having('a', ['Ready', 'False', 'CompileFailed']),
      having('b', ['Ready', 'True', 'InForce'], ['Warning', 'True', 'InvalidSet']),
    ],
    want: [
      ['finding', '1 with a mistake, not in force as written: a (CompileFailed)'],
      ['finding', '1 with a warning: b (InvalidSet)'],
    ],
  },
])('policies: $name', ({ policies, want }) => {
  expect(judgePolicies(policies).map(({ outcome, message }) => [outcome, message])).toEqual(want);
});

test.each([
  { reason: 'Expired', status: 'False' as const, want: '1 token, none refused' },
  { reason: 'UsedUp', status: 'False' as const, want: '1 token, none refused' },
  { reason: 'Withdrawn', status: 'False' as const, want: '1 token, none refused' },
  { reason: 'Publishing', status: 'Unknown' as const, want: '1 token, none refused' },
  { reason: 'Usable', status: 'True' as const, want: '1 token, none refused' },
  {
    reason: 'InvalidSet',
    status: 'False' as const,
    want: '1 with which nobody can ask: rollcall-join/t (InvalidSet)',
  },
  {
    reason: 'OldEpoch',
    status: 'False' as const,
    want: '1 with which nobody can ask: rollcall-join/t (OldEpoch)',
  },
])('a token that is $status for $reason: $want', ({ reason, status, want }) => {
  expect(judgeTokens([having('t', ['Ready', status, reason])]).message).toBe(want);
});

test('a token that was used as often as it may is no finding, whatever a restore says of it', () => {
  const token = having('t', ['Ready', 'False', 'OldEpoch']);
  const used = (times: number) => ({ ...token, spec: { uses: 2 }, status: { ...token.status, used: times } });
  expect(judgeTokens([used(2)]).outcome).toBe('ok');
  expect(judgeTokens([used(1)]).outcome).toBe('finding');
});
