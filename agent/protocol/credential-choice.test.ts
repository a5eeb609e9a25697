import { createNkey, encodeJwt } from '@rollcall/shared/trust/keys';
import { describe, expect, test } from 'vitest';
import { credentialsToTry, isIssuedLater } from './credential-choice.ts';
import { refusedConnection } from './refusal-for-people.ts';

const nowMs = 1_800_000_000_000;
const key = createNkey('user');
const jwtOf = (times: { issuedAtMs?: number; expiresAtMs?: number } = {}) =>
  encodeJwt(
    {
      subject: key.publicKey,
      nowMs: times.issuedAtMs ?? nowMs,
      expiresAtMs: times.expiresAtMs ?? nowMs + 1,
      nats: {},
    },
    key,
  );
const aMember = (jwt: string) => ({
  jwt,
  renewAtMs: 0,
  heartbeatIntervalMs: 1,
  clusterName: 'n',
  namespace: 'n',
});
const ended = jwtOf({ expiresAtMs: nowMs - 3_600_000 });

describe('what an agent shows to be let in', () => {
  test.each([
    { name: 'a new one only its token', state: {}, hasToken: true, want: ['token'] },
    {
      name: 'one that lost the reply, and has no token any more, its key',
      state: {},
      hasToken: false,
      want: ['returning'],
    },
    {
      name: 'one that waits its own credentials first',
      state: { waitingJwt: jwtOf() },
      hasToken: true,
      want: ['waiting', 'token', 'returning'],
    },
    { name: 'one that waited too long', state: { waitingJwt: ended }, hasToken: false, want: ['returning'] },
    { name: 'a member', state: { member: aMember(jwtOf()) }, hasToken: false, want: ['member', 'returning'] },
    {
      name: 'a member that slept past its end comes back with its key',
      state: { member: aMember(ended) },
      hasToken: true,
      want: ['returning', 'token'],
    },
  ])('$name', ({ state, hasToken, want }) => {
    expect(credentialsToTry(state, { hasToken, nowMs }).map(({ role }) => role)).toEqual(want);
  });
});

test('credentials count if they are newer than those we have', () => {
  const old = jwtOf({ issuedAtMs: nowMs - 5000 });
  expect(isIssuedLater(jwtOf(), old)).toBe(true);
  expect(isIssuedLater(old, jwtOf())).toBe(false);
  expect(isIssuedLater(old, old)).toBe(false);
  expect(isIssuedLater('nonsense', undefined)).toBe(false);
});

test.each([
  { shown: ['token'] as const, want: 'TOKEN_UNKNOWN' },
  { shown: ['member', 'returning'] as const, want: 'KEY_REFUSED' },
])('refused with $shown: $want', ({ shown, want }) => {
  expect(refusedConnection(shown)).toMatchObject({ code: want, hint: expect.any(String) });
});
