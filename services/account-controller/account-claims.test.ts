import { expect, test } from 'vitest';
import {
  agentRoles,
  agentsAccountClaims,
  type AgentSigners,
  type HubKeys,
  type RoleAccount,
  roleAccounts,
} from '@rollcall/shared/rights';
import { createNkey, decodeJwt, encodeJwt } from '@rollcall/shared/trust';
import { expectedAccount, readAccountClaims, signAccountClaims } from './account-claims.ts';

const publicKey = () => createNkey('account').publicKey;
const aGeneration = () =>
  Object.fromEntries(Object.keys(agentRoles).map((role) => [role, publicKey()])) as AgentSigners;
const keys: HubKeys = {
  sys: publicKey(),
  auth: publicKey(),
  agents: publicKey(),
  hub: publicKey(),
  hubSigner: publicKey(),
  roles: Object.fromEntries(roleAccounts.map((name) => [name, publicKey()])) as Record<RoleAccount, string>,
  authSigner: publicKey(),
  agentSigners: aGeneration(),
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

const known = { keys, agentsAccount: agentsAccountClaims(keys, {}), formerAgentSigners: [] };
const [next, former] = [aGeneration(), aGeneration()];
const withKeys = (...generations: AgentSigners[]) => {
  const [agentSigners = {} as AgentSigners, ...moreAgentSigners] = generations;
  return anAccount({
    ...agentsAccountClaims({ ...keys, agentSigners, moreAgentSigners }, { K: 5 }),
  });
};

test('an account whose revocations alone differ is read', () => {
  expect(readAccountClaims(anAccount(), expectedAccount(known))).toMatchObject({
    revocations: { K: 5 },
    keysAreRight: true,
  });
});

test.each([
  { name: 'without the next generation', jwt: withKeys(keys.agentSigners), right: false },
  { name: 'with both', jwt: withKeys(keys.agentSigners, next), right: true },
  { name: 'with both the other way round', jwt: withKeys(next, keys.agentSigners), right: true },
  { name: 'with the next alone', jwt: withKeys(next), right: false },
  { name: 'with one that was dropped', jwt: withKeys(former, keys.agentSigners, next), right: false },
])('while keys roll over, an account $name has the right ones: $right', ({ jwt, right }) => {
  const rollingKeys = { ...keys, moreAgentSigners: [next] };
  const agentsAccount = agentsAccountClaims(rollingKeys, {});
  const rolling = { keys: rollingKeys, agentsAccount, formerAgentSigners: [former] };
  const current = readAccountClaims(jwt, expectedAccount(rolling));
  expect(current.keysAreRight).toBe(right);
  const signed = signAccountClaims(current, { K: 5 }, { ...rolling, signer, nowMs });
  expect(readAccountClaims(signed, expectedAccount(rolling))).toMatchObject({
    revocations: { K: 5 },
    keysAreRight: true,
  });
});

test('rights of another version are kept, as the file has them', () => {
  const rights = (scope: object) => ({
    ...scope,
    template: { pub: { allow: ['rollcall.of-another-version'] } },
  });
  const { signing_keys: scopes } = agentsAccountClaims(keys, {}) as { signing_keys: object[] };
  const signingKeys = scopes.map(rights);
  const theirs = { ...known, agentsAccount: { ...known.agentsAccount, signing_keys: signingKeys } };
  const found = readAccountClaims(anAccount({ signing_keys: signingKeys }), expectedAccount(theirs));
  expect(found.keysAreRight).toBe(true);
  const signed = decodeJwt(signAccountClaims(found, { L: 7 }, { ...theirs, signer, nowMs }));
  expect(signed?.nats['signing_keys']).toEqual(signingKeys);
  expect(() => readAccountClaims(anAccount(), expectedAccount(theirs))).toThrow(
    expect.objectContaining({ code: 'CLAIMS_DIFFER' }),
  );
});

test('a generation that nobody announced is not signed over', () => {
  const jwt = withKeys(keys.agentSigners, aGeneration());
  expect(() => readAccountClaims(jwt, expectedAccount(known))).toThrow(
    expect.objectContaining({ code: 'CLAIMS_DIFFER' }),
  );
});

test.each([
  { name: 'no account', jwt: '' },
  { name: 'another account', jwt: anAccount({}, keys.hub) },
  { name: 'no limits', jwt: anAccount({ limits: {} }) },
  { name: 'other exports', jwt: anAccount({ exports: [] }) },
  {
    name: 'the right of one role under the key of another',
    jwt: withKeys({ ...keys.agentSigners, token: keys.agentSigners.member, member: keys.agentSigners.token }),
  },
  { name: 'a key without a scope', jwt: anAccount({ signing_keys: [keys.agentSigners.member] }) },
  { name: 'a new field', jwt: anAccount({ mappings: {} }) },
  { name: 'a changed signature', jwt: `${anAccount().slice(0, -4)}AAAA` },
])('nothing is signed over: $name', ({ jwt }) => {
  expect(() => readAccountClaims(jwt, expectedAccount(known))).toThrow(
    expect.objectContaining({ code: 'CLAIMS_DIFFER' }),
  );
});

test.each([
  { name: 'in the same second', laterMs: 0 },
  { name: 'by a clock that is behind', laterMs: -60_000 },
])('what is signed is newer than what is there, $name', ({ laterMs }) => {
  const current = readAccountClaims(anAccount(), expectedAccount(known));
  const claims = decodeJwt(
    signAccountClaims(current, { L: 7 }, { ...known, signer, nowMs: nowMs + laterMs }),
  );
  expect(claims?.iat).toBe(current.claims.iat + 1);
  expect(claims).toMatchObject({ sub: keys.agents, name: 'AGENTS', iss: signer.publicKey });
  expect(claims?.nats).toEqual({ ...current.claims.nats, revocations: { L: 7 } });
});
