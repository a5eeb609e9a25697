import { expect, test } from 'vitest';
import { makeRoom, sessionEnd, type SessionLife, whyOver } from './session-rules.ts';

const nowMs = 1_800_000_000_000;
const aLife = (overrides: Partial<SessionLife> = {}): SessionLife => ({
  person: 'alice',
  endsAtMs: nowMs + 1000,
  usedAtMs: nowMs,
  openPages: 0,
  ...overrides,
});
const tokenOf = (claims: string) => `e30.${Buffer.from(claims).toString('base64url')}.c2ln`;

test.each([
  { name: 'a token that ends sooner', token: tokenOf(`{"exp":${nowMs / 1000 + 60}}`), want: 60_000 },
  { name: 'a token that has ended', token: tokenOf(`{"exp":${nowMs / 1000 - 60}}`), want: -60_000 },
  { name: 'a token that ends later', token: tokenOf(`{"exp":${nowMs / 1000 + 7200}}`), want: 3_600_000 },
  { name: 'a token that says no end', token: tokenOf('{}'), want: 3_600_000 },
  { name: 'a token that says an end that is none', token: tokenOf('{"exp":"never"}'), want: 3_600_000 },
  { name: 'a token of nothing', token: tokenOf('null'), want: 3_600_000 },
  { name: 'a token that is no JWT', token: 'static-token', want: 3_600_000 },
  { name: 'a token with dots', token: 'a.b.c', want: 3_600_000 },
])('$name: its session ends $want ms from now at the latest', ({ token, want }) => {
  expect(sessionEnd(token, nowMs, { longestMs: 3_600_000 }) - nowMs).toBe(want);
});

test.each([
  { name: 'in use', life: aLife(), isOver: false },
  { name: 'at its end exactly', life: aLife({ endsAtMs: nowMs }), isOver: true },
  { name: 'at its end, with a page open', life: aLife({ endsAtMs: nowMs, openPages: 1 }), isOver: true },
  { name: 'idle', life: aLife({ usedAtMs: nowMs - 500 }), isOver: true },
  { name: 'idle, with a page open', life: aLife({ usedAtMs: nowMs - 500, openPages: 1 }), isOver: false },
])('a session $name: over $isOver', ({ life, isOver }) => {
  expect(whyOver(life, nowMs, { idleMs: 500 }) !== undefined).toBe(isOver);
});

const limits = { inAll: 3, ofPerson: 2 };
const [older, newer] = [aLife({ usedAtMs: nowMs - 2 }), aLife({ usedAtMs: nowMs - 1 })];
const watched = aLife({ usedAtMs: nowMs - 3, openPages: 1 });
const bob = aLife({ person: 'bob', usedAtMs: nowMs - 9 });

test.each([
  { name: 'there is room', sessions: [older, bob], person: 'alice', want: {} },
  {
    name: 'a person has all that one may have',
    sessions: [newer, older],
    person: 'alice',
    want: { ends: older },
  },
  { name: 'there is no room but the own', sessions: [newer, older, bob], person: 'bob', want: { ends: bob } },
  { name: 'others have all', sessions: [newer, older, bob], person: 'carol', want: 'full' },
  {
    name: 'all that a person may have are looked at',
    sessions: [watched, watched],
    person: 'alice',
    mayEndOpen: false,
    want: 'full',
  },
  {
    name: 'one of them is not looked at',
    sessions: [watched, newer],
    person: 'alice',
    mayEndOpen: false,
    want: { ends: newer },
  },
  {
    name: 'they are looked at, and the person asks by the form',
    sessions: [watched, newer],
    person: 'alice',
    mayEndOpen: true,
    want: { ends: watched },
  },
])('$name: nobody loses a session to somebody else', ({ sessions, person, want, mayEndOpen = true }) => {
  expect(makeRoom(sessions, person, { ...limits, mayEndOpen })).toEqual(want);
});
