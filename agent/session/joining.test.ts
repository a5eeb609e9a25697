import fc from 'fast-check';
import type { ReplyResult } from '@rollcall/shared/protocol/reply';
import { describe, expect, test } from 'vitest';
import { isStale, type Joining, type JoiningInput, nextJoining, startJoining, verbFor } from './joining.ts';

const nowMs = 1_000_000;
const context = { nowMs, random: 0.5, refusedRetryMs: 120_000 };
const aJoining = (more: Partial<Joining> = {}): Joining => ({ ...startJoining({ nowMs }), ...more });
const waiting = {
  kind: 'waiting',
  clusterId: 'c',
  reason: 'Pending',
  message: 'm',
  retryAfterMs: 30_000,
} as const;
const refused = {
  kind: 'refused',
  code: 'TOKEN_EXPIRED',
  message: 'm',
  hint: 'h',
  retryAfterMs: 90_000,
} as const;
const admitted = {
  kind: 'admitted',
  clusterId: 'c',
  clusterName: 'n',
  namespace: 'n',
  credentials: 'jwt',
  expiresAtMs: 10_000_000,
  renewAfterMs: 3_600_000,
  heartbeatIntervalMs: 15_000,
} as const;
const answered = (result: ReplyResult, atHubMs = 5): JoiningInput => ({ kind: 'answered', atHubMs, result });

describe('when to ask next', () => {
  test.each<{
    name: string;
    from?: Partial<Joining>;
    input: JoiningInput;
    returnWithinMs?: number;
    wantInMs: number;
    status: Joining['status'];
  }>([
    {
      name: 'a new agent asks at once',
      input: { kind: 'connected', role: 'token' },
      wantInMs: 0,
      status: 'new',
    },
    {
      name: 'a member that was away for a moment has nothing to ask',
      from: { status: 'admitted', requestAtMs: nowMs + 3_600_000 },
      input: { kind: 'connected', role: 'member', awayMs: 60_000 },
      wantInMs: 3_600_000,
      status: 'admitted',
    },
    {
      name: 'a member that was away for long renews within ten minutes: the hub may have been restored',
      from: { status: 'admitted', requestAtMs: nowMs + 3_600_000 },
      input: { kind: 'connected', role: 'member', awayMs: 60_001 },
      wantInMs: 300_000,
      status: 'admitted',
    },
    {
      name: 'a member of a large fleet takes as long as the hub gives its fleet',
      from: { status: 'admitted', requestAtMs: nowMs + 3_600_000 },
      input: { kind: 'connected', role: 'member', awayMs: 60_001 },
      returnWithinMs: 1_280_000,
      wantInMs: 640_000,
      status: 'admitted',
    },
    {
      name: 'a member whose time to renew came meanwhile renews at once',
      from: { status: 'admitted', requestAtMs: nowMs - 1 },
      input: { kind: 'connected', role: 'member', awayMs: 60_001 },
      wantInMs: 0,
      status: 'admitted',
    },
    {
      name: 'or in its turn, when many return',
      from: { status: 'admitted', requestAtMs: nowMs - 1 },
      input: { kind: 'connected', role: 'member', awayMs: 60_001 },
      returnWithinMs: 20_000,
      wantInMs: 10_000,
      status: 'admitted',
    },
    {
      name: 'a member that the hub has forgotten asks at once',
      from: { status: 'admitted' },
      input: answered({ ...refused, code: 'CLUSTER_FORGOTTEN' }),
      wantInMs: 0,
      status: 'forgotten',
    },
    {
      name: 'a hub that says so again is left alone for as long as it wants',
      from: { status: 'forgotten' },
      input: answered({ ...refused, code: 'CLUSTER_FORGOTTEN' }),
      wantInMs: 90_000,
      status: 'refused',
    },
    {
      name: 'a request without a reply is repeated',
      input: { kind: 'asked' },
      wantInMs: 1000,
      status: 'new',
    },
    {
      name: 'and ever more slowly',
      from: { unanswered: 9 },
      input: { kind: 'asked' },
      wantInMs: 30_000,
      status: 'new',
    },
    {
      name: 'who waits asks when the hub says',
      input: answered(waiting),
      wantInMs: 30_000,
      status: 'waiting',
    },
    {
      name: 'who waits and comes back asks at once: the reply may have been missed',
      from: { status: 'waiting', requestAtMs: nowMs + 9999 },
      input: { kind: 'connected', role: 'waiting' },
      wantInMs: 0,
      status: 'waiting',
    },
    {
      name: 'a refusal rests as long as the hub says',
      input: answered(refused),
      wantInMs: 90_000,
      status: 'refused',
    },
    {
      name: 'but not for ever',
      input: answered({ ...refused, retryAfterMs: 1e12 }),
      wantInMs: 120_000,
      status: 'refused',
    },
    {
      name: 'trouble of the hub rests for seconds',
      input: answered({ ...refused, retryAfterMs: 5000 }),
      wantInMs: 5000,
      status: 'refused',
    },
    {
      name: 'a refusal goes on resting over a new connection',
      from: { status: 'refused', requestAtMs: nowMs + 50_000 },
      input: { kind: 'connected', role: 'token' },
      wantInMs: 50_000,
      status: 'refused',
    },
    {
      name: 'who is let in renews in time',
      input: answered(admitted),
      wantInMs: 3_510_000,
      status: 'admitted',
    },
    {
      name: 'a member that reconnects has nothing to ask',
      from: { status: 'admitted', requestAtMs: nowMs + 70_000 },
      input: { kind: 'connected', role: 'member' },
      wantInMs: 70_000,
      status: 'admitted',
    },
    {
      name: 'an older reply changes nothing',
      from: { status: 'admitted', repliedAtHubMs: 6, requestAtMs: nowMs + 7 },
      input: answered(waiting, 5),
      wantInMs: 7,
      status: 'admitted',
    },
    {
      name: 'an older reply to a request of before changes nothing',
      from: { status: 'admitted', repliedAtHubMs: 6, requestAtMs: nowMs + 7 },
      input: { kind: 'answered', atHubMs: 5, result: waiting, isToLast: true },
      wantInMs: 7,
      status: 'admitted',
    },
    {
      name: 'an hour before what was heard, in answer to what was asked since: the clock of the hub was wrong',
      from: { status: 'refused', repliedAtHubMs: 3_600_005, unanswered: 1 },
      input: { kind: 'answered', atHubMs: 5, result: waiting, isToLast: true },
      wantInMs: 30_000,
      status: 'waiting',
    },
  ])('$name', ({ from, input, returnWithinMs, wantInMs, status }) => {
    const after = nextJoining(aJoining(from), input, { ...context, returnWithinMs });
    expect({ inMs: after.requestAtMs - nowMs, status: after.status }).toEqual({
      inMs: wantInMs,
      status,
    });
  });
});

test.each([
  { status: 'new', role: 'token', want: 'join' },
  { status: 'waiting', role: 'waiting', want: 'join' },
  { status: 'admitted', role: 'member', want: 'renew' },
  { status: 'admitted', role: 'returning', want: 'renew' },
  { status: 'refused', role: 'returning', want: 'join' },
] as const)('$status over a $role connection: $want', ({ status, role, want }) => {
  expect(verbFor(aJoining({ status }), role)).toBe(want);
});

const wildMs = fc.oneof(
  fc.integer({ min: -1000, max: 10_000_000 }),
  fc.constantFrom(0, NaN, Infinity, Number.MAX_SAFE_INTEGER),
);
const anyReply = fc
  .record({
    atHubMs: fc.nat(100),
    retryAfterMs: wildMs,
    renewAfterMs: wildMs,
    expiresAtMs: wildMs,
    pick: fc.nat(3),
  })
  .map(({ atHubMs, pick, ...times }) => {
    const result = [waiting, refused, admitted, { kind: 'done' } as const][pick] ?? waiting;
    return { kind: 'answered', atHubMs, result: { ...result, ...times } as ReplyResult } as const;
  });
const anyInput = fc.oneof(
  fc.constantFrom<JoiningInput>({ kind: 'asked' }),
  fc
    .constantFrom('token', 'waiting', 'returning', 'member')
    .map((role): JoiningInput => ({ kind: 'connected', role })),
  anyReply,
);

test('whatever happens, the next request is due within an hour, or when credentials are renewed', () => {
  fc.assert(
    fc.property(
      fc.array(fc.record({ input: anyInput, random: fc.double({ min: 0, max: 1, noNaN: true }) })),
      (history) => {
        let joining = startJoining({ nowMs });
        for (const { input, random } of history) {
          joining = nextJoining(joining, input, { ...context, random });
          expect(Number.isFinite(joining.requestAtMs)).toBe(true);
          expect(joining.status === 'admitted' || joining.requestAtMs - nowMs <= 3_600_000).toBe(true);
        }
      },
    ),
  );
});

test('hearing a reply twice changes nothing but the jitter, and older ones never count', () => {
  fc.assert(
    fc.property(anyReply, (input) => {
      const once = nextJoining(aJoining(), input, context);
      expect(nextJoining(once, input, context)).toEqual(once);
      expect(isStale({ ...once, repliedAtHubMs: input.atHubMs + 1 }, input)).toBe(true);
    }),
  );
});

test('a reply of a kind that only a newer hub has changes nothing', () => {
  const newer = answered({ kind: 'paused', untilMs: 1 } as unknown as ReplyResult);
  const asked = nextJoining(aJoining(), { kind: 'asked' }, context);
  expect(nextJoining(asked, newer, context)).toEqual(asked);
});

test('whose clock was set back while a refusal rested asks again in minutes, and not once the clock has come so far again', () => {
  const before = nextJoining(aJoining(), answered(refused), context);
  for (const backMs of [0, 28_800_000]) {
    const now = { ...context, nowMs: nowMs + 90_000 - backMs };
    const { requestAtMs } = nextJoining(before, { kind: 'connected', role: 'token' }, now);
    expect(requestAtMs - now.nowMs).toBeLessThanOrEqual(context.refusedRetryMs);
  }
});
