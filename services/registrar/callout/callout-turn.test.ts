import { scopedUserClaims } from '@rollcall/shared/rights';
import { createNkey, encodeJwt, type Nkey } from '@rollcall/shared/trust';
import { expect, test } from 'vitest';
import { createCalloutTurns } from './callout-turn.ts';

const signer = createNkey('account');
const agentsAccount = createNkey('account').publicKey;
const issuer = {
  agentsAccount,
  signers: {
    token: createNkey('account'),
    waiting: createNkey('account'),
    returning: createNkey('account'),
    member: signer,
  },
};
const dayMs = 86_400_000;
const key = createNkey('user');

function credentials(more: { subject?: string; name?: string; endedMsAgo?: number; by?: Nkey } = {}): string {
  const { subject = key.publicKey, name = 'c1', endedMsAgo = 6 * 3_600_000, by = signer } = more;
  const expiresAtMs = Date.now() - endedMsAgo;
  const nats = scopedUserClaims(agentsAccount);
  return encodeJwt({ subject, name, nowMs: expiresAtMs - dayMs, expiresAtMs, nats }, by);
}

const asking = (pass: string | undefined, more: { user?: string } = {}) => ({
  host: '192.0.2.1',
  claim: { nkey: key.publicKey, sig: '', user: undefined, pass, name: 'c1', nonce: 'n', ...more },
});

test.each([
  { name: 'a member whose credentials ended in an outage', request: asking(credentials()), want: 'first' },
  {
    name: 'one that slept for long',
    request: asking(credentials({ endedMsAgo: 3 * dayMs })),
    want: 'next',
  },
  { name: 'who shows nothing of before', request: asking(undefined), want: 'next' },
  { name: 'who shows what is no JWT', request: asking('garbage'), want: 'next' },
  {
    name: 'who shows the credentials of another key',
    request: asking(credentials({ subject: createNkey('user').publicKey })),
    want: 'next',
  },
  { name: 'who shows those of another cluster', request: asking(credentials({ name: 'c2' })), want: 'next' },
  {
    name: 'who has signed them itself',
    request: asking(credentials({ by: createNkey('account') })),
    want: 'next',
  },
  {
    name: 'who comes with a token, whatever it shows beside it',
    request: asking(credentials(), { user: key.publicKey }),
    want: 'next',
  },
])('$name is served $want', ({ request, want }) => {
  expect(createCalloutTurns(issuer).turnOf(request, 0)).toBe(want);
});

test('a member comes first also from an address from which many are refused; the others there come last', () => {
  const turns = createCalloutTurns(issuer);
  for (let at = 0; at < 200; at++) turns.wasRefused(asking(undefined), 0);
  expect(turns.isRefusedLate('192.0.2.1', 0)).toBe(true);
  expect(turns.turnOf(asking(undefined), 0)).toBe('last');
  expect(turns.turnOf(asking(credentials()), 0)).toBe('first');
  turns.wasLetIn(asking(undefined));
  expect(turns.turnOf(asking(undefined), 0)).toBe('next');
});

test('who shows credentials of before and has no key to them loses its turn', () => {
  const turns = createCalloutTurns(issuer);
  for (let at = 0; at < 5; at++) turns.wasRefused(asking(credentials()), 0);
  expect(turns.turnOf(asking(credentials()), 0)).toBe('next');
  expect(turns.turnOf(asking(credentials()), 10_000)).toBe('first');
});
