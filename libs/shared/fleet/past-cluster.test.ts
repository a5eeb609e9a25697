import type { ClusterRecord, Decision, Identity, Liveness } from '@rollcall/shared/events';
import { expect, test } from 'vitest';
import { pastCluster } from './past-cluster.ts';

const decided: Partial<Decision> = {
  verdict: 'approved',
  approvedKey: 'K',
  clusterName: 'edge-1',
  clusterSet: 'shops',
  labels: {},
  reason: 'PolicyApproved',
  decidedAtMs: 2,
};
const admitted: Partial<Identity> = { state: 'requested', admittedKey: 'K', admittedAtMs: 3 };
const alive: Partial<Liveness> = { state: 'ready', key: 'K', cause: 'Alive', joinedAtMs: 4, sinceMs: 5 };

const pastOf = (parts: {
  identity?: Partial<Identity> | undefined;
  decision?: Partial<Decision> | undefined;
  liveness?: Partial<Liveness> | undefined;
}) => pastCluster('id-1', parts as Pick<ClusterRecord, 'identity' | 'decision' | 'liveness'>);

test.each([
  { name: 'one that was ready', parts: {}, want: { state: 'ready', reason: 'Alive', sinceMs: 5 } },
  {
    name: 'one whose member API was down',
    parts: { liveness: { ...alive, cause: 'MemberAPIDown' } },
    want: { state: 'notReady', reason: 'MemberAPIDown' },
  },
  {
    name: 'one that had just fallen silent',
    parts: { liveness: { ...alive, state: 'suspect', cause: 'NoHeartbeats' } },
    want: { state: 'unknown' },
  },
  {
    name: 'one that was let in and not heard yet',
    parts: { liveness: undefined },
    want: { state: 'expected', sinceMs: 2 },
  },
  {
    name: 'one that was denied',
    parts: { decision: { ...decided, verdict: 'denied', approvedKey: undefined, reason: 'PersonDenied' } },
    want: { state: 'out', reason: 'PersonDenied' },
  },
  {
    name: 'a member while another key was denied',
    parts: { decision: { ...decided, verdict: 'denied' } },
    want: { state: 'ready' },
  },
  {
    name: 'one that a person predefined',
    parts: { identity: undefined, decision: { ...decided, verdict: 'predefined', approvedKey: undefined } },
    want: { state: 'expected' },
  },
  {
    name: 'one that had left, and that a person predefined again',
    parts: {
      identity: { ...admitted, state: 'left' },
      decision: { ...decided, verdict: 'predefined', approvedKey: undefined },
    },
    want: { state: 'expected' },
  },
  {
    name: 'one that was leaving',
    parts: { decision: { ...decided, verdict: 'leaving', approvedKey: undefined, reason: 'Leaving' } },
    want: { state: 'out', reason: 'Leaving' },
  },
  {
    name: 'one that waited for a person',
    parts: {
      identity: { state: 'requested', request: { id: 'r', key: 'K' } as Identity['request'] },
      decision: { ...decided, verdict: 'held', approvedKey: undefined, requestId: 'r', key: 'K' },
      liveness: undefined,
    },
    want: { state: 'expected', sinceMs: 2, isWaiting: true },
  },
] as const)('$name', ({ parts, want }) => {
  const row = pastOf({ identity: admitted, decision: decided, liveness: alive, ...parts });
  expect(row).toMatchObject({ name: 'edge-1', id: 'id-1', set: 'shops', ...want });
});

test.each([
  { name: 'one that nobody had judged', parts: { decision: undefined } },
  { name: 'one that had left', parts: { identity: { ...admitted, state: 'left' } } },
  {
    name: 'one that a person predefined and deleted before anybody came',
    parts: { identity: undefined, decision: { ...decided, verdict: 'leaving', approvedKey: undefined } },
  },
  {
    name: 'one that had left, and asked again in vain',
    parts: {
      identity: { state: 'refused' },
      decision: { ...decided, verdict: 'leaving', approvedKey: undefined },
    },
  },
] as const)('no cluster: $name', ({ parts }) => {
  expect(pastOf({ identity: admitted, decision: decided, liveness: alive, ...parts })).toBeUndefined();
});
