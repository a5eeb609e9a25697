import { clusterRecord } from '@rollcall/shared/events';
import { createNkey } from '@rollcall/shared/trust';
import { expect, test } from 'vitest';
import { aDecision, anIdentity } from '../../../tests/harness/events.ts';
import { MemoryLog } from '../tests/memory-log.ts';
import { type AnswerSettings, refusalResult, standingResult } from './answer.ts';

test.each([
  { code: 'APPEND_CONFLICT', askAgainMs: 5000 },
  { code: 'BUS_UNREACHABLE', askAgainMs: 5000 },
  { code: 'HUB_FULL', askAgainMs: 5000 },
  { code: 'TOKEN_UNKNOWN', askAgainMs: 300_000 },
] as const)(
  'whoever is refused for $code, the hub’s trouble or its own, asks again after $askAgainMs ms',
  ({ code, askAgainMs }) => {
    expect(refusalResult({ code, message: 'm' })).toMatchObject({ kind: 'refused', code, askAgainMs });
  },
);

test('a key that is let in and taken back at once gets no credentials', () => {
  const agentKey = createNkey('user').publicKey;
  const empty = clusterRecord(new MemoryLog().read({ kind: 'cluster', id: 'id-1' }));
  const signer = createNkey('account');
  const signers = { token: signer, returning: signer, waiting: signer, member: signer };
  const settings = {
    issuer: { agentsAccount: 'A', signers },
    memberLifeMs: 3_600_000,
    beatStretch: () => 1,
    returnWithinMs: () => undefined,
  } as unknown as AnswerSettings;
  const answer = (revokedKeys: { key: string; atMs: number }[]) => {
    const record = {
      ...empty,
      identity: anIdentity(),
      decision: aDecision({ approvedKey: agentKey, revokedKeys }),
    };
    return standingResult({ kind: 'member' }, { record, agentKey, nowMs: 1000, random: 0 }, settings);
  };
  expect(answer([{ key: 'another', atMs: 1 }])).toMatchObject({ kind: 'admitted' });
  expect(answer([{ key: agentKey, atMs: 1 }])).toMatchObject({ kind: 'refused', code: 'CLUSTER_REVOKED' });
});
