import type { AgentRole } from '@rollcall/shared/rights';
import { createNkey, decodeJwt, type Nkey } from '@rollcall/shared/trust';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { issueCredentials } from './issue-credentials.ts';
import { renewAfterMs } from './renew-after.ts';

const signer = createNkey('account');
const signers: Record<AgentRole, Nkey> = {
  token: signer,
  returning: signer,
  waiting: signer,
  member: createNkey('account'),
};

test('members renew between 60 and 80 % of their credentials’ life', () => {
  const life = fc.integer({ min: 60_000, max: 10 * 86_400_000 });
  fc.assert(
    fc.property(life, fc.double({ min: 0, max: 1, noNaN: true }), (lifeMs, random) => {
      const share = renewAfterMs(lifeMs, random) / lifeMs;
      expect(share).toBeGreaterThanOrEqual(0.599);
      expect(share).toBeLessThanOrEqual(0.801);
    }),
  );
});

test('credentials are for the agent’s own key, end, carry no rights of their own, and are signed for their role', () => {
  const issuer = { agentsAccount: 'AACCOUNT', signers };
  const grant = {
    role: 'member',
    agentKey: 'UAGENT',
    name: 'id-1',
    nowMs: 1_000_000,
    lifeMs: 60_000,
  } as const;
  const { jwt, expiresAtMs } = issueCredentials(issuer, grant);
  expect(expiresAtMs).toBe(1_060_000);
  expect(decodeJwt(jwt)).toMatchObject({
    iss: signers.member.publicKey,
    sub: 'UAGENT',
    name: 'id-1',
    exp: 1060,
  });
  expect(decodeJwt(jwt)?.nats).toEqual({ type: 'user', issuer_account: 'AACCOUNT', version: 2 });
});
