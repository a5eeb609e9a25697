import { expect, test } from 'vitest';
import { makeRoom, sessionEnd, type SessionLife, whyOver } from './session-rules.ts';

const nowMs = 1_800_000_000_000;
const aLife = (overrides: Partial<SessionLife> = {}): SessionLife => ({
  person: 'alice',
  endsAtMs: nowMs + 1000,
  beganAtMs: nowMs,
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

const limits = { inAll: 6, ofPerson: 2, nowMs, openForMs: 60_000 };
const [older, newer] = [aLife({ usedAtMs: nowMs - 2 }), aLife({ usedAtMs: nowMs - 1 })];
const watched = aLife({ openPages: 1, beganAtMs: nowMs - 60_000 });
const watchedLonger = aLife({ openPages: 1, beganAtMs: nowMs - 90_000 });
const justOpened = aLife({ openPages: 1, beganAtMs: nowMs - 59_999 });
const bob = aLife({ person: 'bob', usedAtMs: nowMs - 9 });
const others = (count: number) => Array.from({ length: count }, (_, index) => aLife({ person: `p${index}` }));
const robot = (name: string, namespace = 'shop') =>
  aLife({ person: `system:serviceaccount:${namespace}:${name}` });
const robots = [robot('a'), robot('b'), robot('c')];

test.each([
  { name: 'there is room', sessions: [older, bob], person: 'alice', want: {} },
  {
    name: 'a person has all that one may have',
    sessions: [newer, older],
    person: 'alice',
    want: { ends: older },
  },
  { name: 'there is no room but the own', sessions: [...others(5), bob], person: 'bob', want: { ends: bob } },
  { name: 'others have all', sessions: others(6), person: 'carol', want: 'full' },
  {
    name: 'one of them is not looked at',
    sessions: [watched, newer],
    person: 'alice',
    want: { ends: newer },
  },
  {
    name: 'all are looked at: the oldest goes',
    sessions: [watched, watchedLonger],
    person: 'alice',
    want: { ends: watchedLonger },
  },
  {
    name: 'all have just been opened',
    sessions: [justOpened, justOpened],
    person: 'alice',
    want: 'full',
  },
  {
    name: 'all have just been opened, and the person asks by the form',
    sessions: [justOpened, justOpened],
    person: 'alice',
    openForMs: 0,
    want: { ends: justOpened },
  },
  {
    name: 'ServiceAccounts of one namespace have half',
    sessions: robots,
    person: robot('d').person,
    want: 'full',
  },
  {
    name: 'they have half, and one of them asks again',
    sessions: robots,
    person: robot('a').person,
    want: { ends: robots[0] },
  },
  { name: 'of another namespace', sessions: robots, person: robot('a', 'bank').person, want: {} },
  { name: 'they have half, and a person asks', sessions: robots, person: 'alice', want: {} },
])('$name: nobody loses a session to somebody else', ({ sessions, person, want, openForMs = 60_000 }) => {
  expect(makeRoom(sessions, person, { ...limits, openForMs })).toEqual(want);
});
