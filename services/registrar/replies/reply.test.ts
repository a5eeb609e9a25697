import { type ClusterRecord, clusterRecord } from '@rollcall/shared/events';
import { createNkey } from '@rollcall/shared/trust';
import { expect, test } from 'vitest';
import { aDecision, anIdentity } from '../../../tests/harness/events.ts';
import { MemoryLog } from '../tests/memory-log.ts';
import { type ReplySettings, refusalResult, keyStatusResult } from './reply.ts';

test.each([
  { code: 'APPEND_CONFLICT', retryAfterMs: 5000 },
  { code: 'BUS_UNREACHABLE', retryAfterMs: 5000 },
  { code: 'HUB_FULL', retryAfterMs: 5000 },
  { code: 'TOKEN_UNKNOWN', retryAfterMs: 300_000 },
] as const)(
  'whoever is refused for $code, the hub’s trouble or its own, asks again after $retryAfterMs ms',
  ({ code, retryAfterMs }) => {
    expect(refusalResult({ code, message: 'm' })).toMatchObject({ kind: 'refused', code, retryAfterMs });
  },
);

const signer = createNkey('account');
const settings: ReplySettings = {
  hubId: 'HUB',
  replyKey: createNkey('user'),
  replyChain: [],
  hubCas: undefined,
  hubAddresses: undefined,
  issuer: {
    agentsAccount: 'AACCOUNT',
    signers: { token: signer, returning: signer, waiting: signer, member: signer },
  },
  memberLifeMs: 60_000,
  waitingLifeMs: 60_000,
  heartbeatIntervalMs: 15_000,
  intervalMultiplier: () => 1,
  returnWithinMs: () => undefined,
};

test('a key that is let in and taken back at once gets no credentials', () => {
  const agentKey = createNkey('user').publicKey;
  const empty = clusterRecord(new MemoryLog().read({ kind: 'cluster', id: 'id-1' }));
  const answer = (revokedKeys: { key: string; atMs: number }[]) => {
    const record = {
      ...empty,
      identity: anIdentity(),
      decision: aDecision({ approvedKey: agentKey, revokedKeys }),
    };
    return keyStatusResult({ kind: 'member' }, { record, agentKey, nowMs: 1000, random: 0 }, settings);
  };
  expect(answer([{ key: 'another', atMs: 1 }])).toMatchObject({ kind: 'admitted' });
  expect(answer([{ key: agentKey, atMs: 1 }])).toMatchObject({ kind: 'refused', code: 'CLUSTER_REVOKED' });
});

const told = { member: 'admitted', waiting: 'waiting' } as const;
test.each([
  { kind: 'member', droppedLabels: ['env', 'team'], isOwn: true, want: ['env', 'team'] },
  { kind: 'waiting', droppedLabels: ['env'], isOwn: true, want: ['env'] },
  { kind: 'member', droppedLabels: [], isOwn: true, want: undefined },
  { kind: 'member', droppedLabels: ['of-another'], isOwn: false, want: undefined },
] as const)('a $kind hears which labels it does not get: $want', ({ kind, droppedLabels, isOwn, want }) => {
  const agentKey = createNkey('user').publicKey;
  const { request } = anIdentity();
  const key = isOwn ? agentKey : request.key;
  const identity = anIdentity({ request: { ...request, key, droppedLabels: [...droppedLabels] } });
  const aggregate = { kind: 'cluster', id: 'c-1' };
  const record = { aggregate, identity, decision: aDecision() } as unknown as ClusterRecord;
  const status = { kind, reason: 'R', message: 'm' };
  const result = keyStatusResult(status, { record, agentKey, nowMs: 1, random: 0 }, settings);
  expect(result.kind).toBe(told[kind]);
  expect('droppedLabels' in result ? result.droppedLabels : undefined).toEqual(want);
});
