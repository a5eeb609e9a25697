import { afterEach, expect, test, vi } from 'vitest';
import { createMemberProof, keysOf } from './member-proof.ts';

afterEach(() => void vi.useRealTimers());

const rsa = {
  use: 'sig',
  kty: 'RSA',
  kid: 'one',
  alg: 'RS256',
  n: 'AQAB',
  e: 'AQAB',
  d: 'never there, never sent',
};

test('of the keys of a member what the hub takes is shown, and nothing else', () => {
  const jwks = { keys: [rsa, { kty: 'oct', kid: 'x', k: 'y' }, { kty: 'EC' }] };
  expect(keysOf(JSON.stringify(jwks))).toEqual([{ kty: 'RSA', kid: 'one', n: 'AQAB', e: 'AQAB' }]);
});

test.each(['', '{}', 'null', '[]', '{"keys":null}'])('keys that are none: %s', (text) => {
  expect(keysOf(text)).toEqual([]);
});

test('the token is asked for this hub and this key, and once for several requests', async () => {
  const asked: string[] = [];
  const ownToken = async (audience: string) => {
    asked.push(audience);
    return 'token';
  };
  const proof = createMemberProof(
    { ownToken, issuerKeys: async () => JSON.stringify({ keys: [rsa] }) },
    'HUB',
  );
  expect(await proof('UKEY')).toMatchObject({ token: 'token', keys: [{ kid: 'one' }] });
  await proof('UKEY');
  expect(asked).toEqual(['rollcall:HUB:UKEY']);
  await proof('UNEW');
  expect(asked).toEqual(['rollcall:HUB:UKEY', 'rollcall:HUB:UNEW']);
});

test.each<{ name: string; token?: string; jwks?: string }>([
  { name: 'no ServiceAccount', jwks: JSON.stringify({ keys: [rsa] }) },
  { name: 'no keys that it may read', token: 'token' },
  { name: 'no keys that the hub takes', token: 'token', jwks: '{"keys":[]}' },
])('a member with $name shows no proof', async ({ token, jwks }) => {
  const member = { ownToken: async () => token, issuerKeys: async () => jwks };
  expect(await createMemberProof(member, 'HUB')('UKEY')).toBeUndefined();
});

test('a member that could not vouch for a moment is asked again with the next request, and not by each at once', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  let isReady = false;
  let asked = 0;
  const ownToken = async () => (++asked && isReady ? 'token' : undefined);
  const proof = createMemberProof(
    { ownToken, issuerKeys: async () => JSON.stringify({ keys: [rsa] }) },
    'HUB',
  );
  expect(await proof('UKEY')).toBeUndefined();
  expect(await proof('UKEY')).toBeUndefined();
  expect(asked).toBe(1);
  isReady = true;
  // As long as an agent waits before it asks again.
  vi.advanceTimersByTime(27_000);
  expect(await proof('UKEY')).toMatchObject({ token: 'token' });
});
