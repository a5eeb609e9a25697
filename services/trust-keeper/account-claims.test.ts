import { expect, test } from 'vitest';
import { agentRoles, agentsAccountClaims, type HubKeys } from '@rollcall/shared/rights';
import { createNkey, decodeJwt, encodeJwt } from '@rollcall/shared/trust';
import { readAccountClaims, signAccountClaims } from './account-claims.ts';

const publicKey = () => createNkey('account').publicKey;
const keys: HubKeys = {
  sys: publicKey(),
  auth: publicKey(),
  agents: publicKey(),
  hub: publicKey(),
  hubSigner: publicKey(),
  sysSigner: publicKey(),
  authSigner: publicKey(),
  agentSigners: Object.fromEntries(
    Object.keys(agentRoles).map((role) => [role, publicKey()]),
  ) as HubKeys['agentSigners'],
  calloutUser: publicKey(),
  calloutXkey: publicKey(),
};
const signer = createNkey('operator');
const nowMs = 1_700_000_000_500;
const anAccount = (change: Record<string, unknown> = {}, subject = keys.agents) =>
  encodeJwt(
    { subject, name: 'AGENTS', nowMs, nats: { ...agentsAccountClaims(keys, { K: 5 }), ...change } },
    signer,
  );

test('an account whose revocations alone differ is read', () => {
  expect(readAccountClaims(anAccount(), keys).revocations).toEqual({ K: 5 });
});

test.each([
  { name: 'no account', jwt: '' },
  { name: 'another account', jwt: anAccount({}, keys.hub) },
  { name: 'no limits', jwt: anAccount({ limits: {} }) },
  { name: 'other exports', jwt: anAccount({ exports: [] }) },
  { name: 'a key without a scope', jwt: anAccount({ signing_keys: [keys.agentSigners.member] }) },
  { name: 'a new field', jwt: anAccount({ mappings: {} }) },
  { name: 'a changed signature', jwt: `${anAccount().slice(0, -4)}AAAA` },
])('nothing is signed over: $name', ({ jwt }) => {
  expect(() => readAccountClaims(jwt, keys)).toThrow(expect.objectContaining({ code: 'CLAIMS_DIFFER' }));
});

test.each([
  { name: 'in the same second', laterMs: 0 },
  { name: 'by a clock that is behind', laterMs: -60_000 },
])('what is signed is newer than what is there, $name', ({ laterMs }) => {
  const current = readAccountClaims(anAccount(), keys);
  const claims = decodeJwt(signAccountClaims(current, { L: 7 }, { keys, signer, nowMs: nowMs + laterMs }));
  expect(claims?.iat).toBe(current.claims.iat + 1);
  expect(claims).toMatchObject({ sub: keys.agents, name: 'AGENTS', iss: signer.publicKey });
  expect(claims?.nats).toEqual({ ...current.claims.nats, revocations: { L: 7 } });
});
