import fc from 'fast-check';
import type { ReplyResult } from '@rollcall/shared/protocol/reply';
import type { AgentRole } from '@rollcall/shared/rights';
import { describe, expect, test } from 'vitest';
import {
  isObeyingLeave,
  type Registration,
  type RegistrationEffect,
  type RegistrationInput,
  requestFor,
  startRegistration,
  step,
} from './registration.ts';

const nowMs = 1_000_000;
const context = { nowMs, random: 0.5, refusedRetryMs: 120_000 };
const start = (isLeaveWanted = false) => startRegistration({ nowMs, isLeaveWanted });
const waiting: ReplyResult = {
  kind: 'waiting',
  clusterId: 'c',
  reason: 'Pending',
  message: 'm',
  retryAfterMs: 30_000,
  credentials: 'waiting-jwt',
};
const refused: ReplyResult = {
  kind: 'refused',
  code: 'TOKEN_EXPIRED',
  message: 'm',
  hint: 'h',
  retryAfterMs: 90_000,
};
const left: ReplyResult = { ...refused, code: 'CLUSTER_LEFT' };
const leave: ReplyResult = { kind: 'leave', clusterId: 'c', reason: 'Deleted', message: 'm' };
const admission = {
  clusterId: 'c',
  clusterName: 'n',
  namespace: 'n',
  credentials: 'jwt',
  expiresAtMs: 10_000_000,
  renewAfterMs: 3_600_000,
  heartbeatIntervalMs: 15_000,
};
const admitted: ReplyResult = { kind: 'admitted', ...admission };

type Replied = RegistrationInput & { kind: 'replied' };
const replied = (result: ReplyResult, more: Partial<Replied> = {}): Replied => ({
  kind: 'replied',
  reply: { result, atMs: 5 },
  isToLast: true,
  agentKey: 'own',
  isOwnKey: true,
  role: 'returning',
  ...more,
});

/** Where these inputs lead, and all that was to be done on the way. */
function after(inputs: readonly RegistrationInput[], from: Registration = start()) {
  let state = from;
  const effects: RegistrationEffect[] = [];
  for (const input of inputs) {
    const next = step(state, input, context);
    state = next.state;
    effects.push(...next.effects);
  }
  return { state, effects, kinds: effects.map(({ kind }) => kind) };
}

describe('what follows from a reply', () => {
  test.each<{ name: string; inputs: RegistrationInput[]; kinds: RegistrationEffect['kind'][] }>([
    {
      name: 'a request that waits keeps its credentials',
      inputs: [replied(waiting)],
      kinds: ['learn-access', 'keep-waiting-credentials', 'show-waiting', 'schedule'],
    },
    {
      name: 'a member keeps those of a member',
      inputs: [replied(waiting, { role: 'member' })],
      kinds: ['learn-access', 'show-waiting', 'schedule'],
    },
    {
      name: 'a long refusal ends the connection of a token',
      inputs: [replied(refused, { role: 'token' })],
      kinds: ['learn-access', 'show-refused', 'close-connection', 'schedule'],
    },
    {
      name: 'and not that of a member',
      inputs: [replied(refused, { role: 'member' })],
      kinds: ['learn-access', 'show-refused', 'schedule'],
    },
    {
      name: 'an admission is adopted',
      inputs: [replied(admitted)],
      kinds: ['learn-access', 'adopt', 'schedule'],
    },
    {
      name: 'for a key that takes over, nothing else',
      inputs: [replied(admitted, { isOwnKey: false, agentKey: 'next' })],
      kinds: ['adopt'],
    },
    {
      name: 'a refusal of another key says nothing of the agent',
      inputs: [replied(refused, { isOwnKey: false, agentKey: 'former' })],
      kinds: [],
    },
    {
      name: 'labels that were dropped are shown once',
      inputs: [replied({ ...waiting, droppedLabels: ['a'] }), replied({ ...admitted, droppedLabels: ['a'] })],
      kinds: [
        ...(['learn-access', 'keep-waiting-credentials', 'show-dropped-labels'] as const),
        ...(['show-waiting', 'schedule', 'learn-access', 'adopt', 'schedule'] as const),
      ],
    },
    {
      name: 'a member that the server admits is not put out by a reply, and warns once',
      inputs: [replied(leave, { role: 'member' }), replied(left, { role: 'member' })],
      kinds: ['warn-leave-announced'],
    },
    {
      name: 'a leaving is removed, said and over',
      inputs: [replied(leave), { kind: 'removed' }, replied(left)],
      kinds: ['remove-installed', 'stop-access', 'schedule', 'await-goodbye', 'end', 'stop-access'],
    },
    {
      name: 'one that the hub has finished needs no goodbye',
      inputs: [replied(left), { kind: 'removed' }],
      kinds: ['remove-installed', 'stop-access', 'end'],
    },
    {
      name: 'a hub that does not hear the goodbye is not waited for',
      inputs: [replied(leave), { kind: 'removed' }, { kind: 'goodbye-over' }],
      kinds: ['remove-installed', 'stop-access', 'schedule', 'await-goodbye', 'end'],
    },
  ])('$name', ({ inputs, kinds }) => {
    expect(after(inputs).kinds).toEqual(kinds);
  });

  test('who wants to leave requests it again soon, then rarely, and takes no credentials meanwhile', () => {
    const done: RegistrationInput = replied({ kind: 'done' }, { role: 'member' });
    const asked: RegistrationInput = { kind: 'asked' };
    const first = after([asked, done], start(true));
    const second = after([asked, done], first.state);
    const older = after([replied(admitted, { role: 'member' })], first.state);
    expect([first, second, older].map(({ kinds }) => kinds)).toEqual([
      ['schedule'],
      ['schedule', 'schedule'],
      ['schedule'],
    ]);
    const dueInMs = [first, second, older].map(({ state }) => state.joining.requestAtMs - context.nowMs);
    expect(dueInMs[0]).toBeLessThanOrEqual(2000);
    expect(Math.min(dueInMs[1] ?? 0, dueInMs[2] ?? 0)).toBeGreaterThanOrEqual(15_000);
  });

  test('in a large fleet who waits for the decision asks again more rarely', () => {
    const { state } = after([{ kind: 'asked' }, replied({ kind: 'done' }), { kind: 'asked' }], start(true));
    const ofLargeFleet = { ...context, returnWithinMs: 40_000 };
    const later = step(state, replied({ kind: 'done' }), ofLargeFleet).state;
    expect(later.joining.requestAtMs - context.nowMs).toBeGreaterThanOrEqual(200_000);
  });
});

test('an announcement that the hub does not stand by is over: an agent that leaves hurries back after each lost connection', () => {
  const member = { role: 'member' } as const;
  const { state } = after([replied(leave, member), replied(admitted, member)]);
  expect(state.leaving).toBe('staying');
  expect(after([replied(leave, member), replied({ kind: 'done' }, member)]).state.leaving).toBe('announced');
});

test('a person in the member is obeyed over any connection', () => {
  expect(requestFor(start(true), 'member')).toEqual({ verb: 'leave', done: false });
  expect(after([replied(leave, { role: 'member' })], start(true)).kinds).toContain('remove-installed');
});

const anyRole = fc.constantFrom<AgentRole>('token', 'waiting', 'returning', 'member');
const anyReply = fc
  .record({
    result: fc.constantFrom<ReplyResult>(waiting, refused, admitted, leave, left, { kind: 'done' }),
    atMs: fc.nat(100),
    isToLast: fc.boolean(),
    isOwnKey: fc.boolean(),
    role: fc.option(anyRole, { nil: undefined }),
  })
  .map(({ result, atMs, ...more }) => replied(result, { ...more, reply: { result, atMs } }));
const anyInput: fc.Arbitrary<RegistrationInput> = fc.oneof(
  { weight: 4, arbitrary: anyReply },
  fc.record({ kind: fc.constant('connected' as const), role: anyRole, awayMs: fc.nat(200_000) }),
  fc.constantFrom<RegistrationInput>(
    { kind: 'asked' },
    { kind: 'forgotten' },
    { kind: 'rotated', admission, atMs: 5, agentKey: 'next' },
    { kind: 'taken-over' },
    { kind: 'removed' },
    { kind: 'goodbye-over' },
  ),
);

/** Each step of a random history. */
function everyStep(
  check: (before: Registration, input: RegistrationInput, next: ReturnType<typeof step>) => void,
) {
  fc.assert(
    fc.property(fc.boolean(), fc.array(anyInput, { maxLength: 40 }), (isLeaveWanted, history) => {
      let state = start(isLeaveWanted);
      for (const input of history) {
        const next = step(state, input, context);
        check(state, input, next);
        state = next.state;
      }
    }),
    { numRuns: 500 },
  );
}
const has = (effects: readonly RegistrationEffect[], kind: RegistrationEffect['kind']) =>
  effects.filter((effect) => effect.kind === kind).length;

test('a step schedules at most one request, and adopts at most one admission', () => {
  everyStep((_, __, { effects }) => {
    expect(has(effects, 'schedule')).toBeLessThanOrEqual(1);
    expect(has(effects, 'adopt')).toBeLessThanOrEqual(1);
  });
});

test('nothing is removed but by a reply that says so, while the server refuses the member or a person wants it', () => {
  everyStep((before, input, { state, effects }) => {
    const isBegun = !isObeyingLeave(before) && isObeyingLeave(state);
    const says = input.kind === 'replied' && ([leave, left] as ReplyResult[]).includes(input.reply.result);
    const mayBegin = says && (before.isLeaveWanted || input.role !== 'member');
    expect(has(effects, 'remove-installed')).toBe(isBegun ? 1 : 0);
    expect(isBegun && !mayBegin).toBe(false);
  });
});

test('who leaves takes no credentials any more, and stays on the way out', () => {
  everyStep((before, _, { state, effects }) => {
    const leaves = isObeyingLeave(before);
    const taken = has(effects, 'adopt') + has(effects, 'keep-waiting-credentials');
    const other = isObeyingLeave(state) && (requestFor(state, 'returning')?.verb ?? 'leave') !== 'leave';
    expect({ stays: !leaves || isObeyingLeave(state), taken: leaves ? taken : 0, other }).toEqual({
      stays: true,
      taken: 0,
      other: false,
    });
  });
});

test('it ends once, and requests nothing then', () => {
  everyStep((before, _, { state, effects }) => {
    expect(has(effects, 'end')).toBe(before.leaving !== 'left' && state.leaving === 'left' ? 1 : 0);
    expect(before.leaving === 'left' && state.leaving !== 'left').toBe(false);
    expect(state.leaving === 'left' && requestFor(state, 'returning') !== undefined).toBe(false);
  });
});

test('it is never stuck: a request is due at a known time, or a removal or a goodbye is under way', () => {
  everyStep((before, input, { state, effects }) => {
    expect(Number.isFinite(state.joining.requestAtMs)).toBe(true);
    expect(isObeyingLeave(state) || requestFor(state, 'returning') !== undefined).toBe(true);
    // A new key has its request scheduled by its connection.
    const isMoved = before.joining.requestAtMs !== state.joining.requestAtMs && input.kind !== 'taken-over';
    expect(isMoved && has(effects, 'schedule') === 0).toBe(false);
    const isRemoved = before.leaving !== 'removed' && state.leaving === 'removed';
    expect(has(effects, 'await-goodbye')).toBe(isRemoved ? 1 : 0);
  });
});
