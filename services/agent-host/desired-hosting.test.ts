import { createNkey, encodeJwt } from '@rollcall/shared/trust';
import { expect, test } from 'vitest';
import { isOfEarlierRegistration } from './desired-hosting.ts';

const sinceMs = 1_800_000_000_000;
const key = createNkey('user');
const issued = (nowMs: number) => encodeJwt({ subject: key.publicKey, nowMs, nats: {} }, key);
const memberSince = (nowMs: number) => ({
  member: { jwt: issued(nowMs), renewAtMs: 0, heartbeatIntervalMs: 1, clusterName: 'n', namespace: 'n' },
});

test.each([
  { what: 'that never were shown', state: {}, hasRequested: false, want: false },
  { what: 'that were let in before', state: memberSince(sinceMs - 60_000), hasRequested: false, want: true },
  {
    what: 'that waited before',
    state: { waitingJwt: issued(sinceMs - 60_000) },
    hasRequested: false,
    want: true,
  },
  {
    what: 'of a cluster that has asked',
    state: memberSince(sinceMs - 60_000),
    hasRequested: true,
    want: false,
  },
  // A record may be read that is a moment old.
  { what: 'that were let in since', state: memberSince(sinceMs + 1000), hasRequested: false, want: false },
])('keys $what are of an earlier registration: $want', ({ state, hasRequested, want }) => {
  expect(isOfEarlierRegistration(state, { hasRequested, sinceMs })).toBe(want);
});
