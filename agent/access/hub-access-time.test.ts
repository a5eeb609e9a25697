import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type HubAccessInput, type HubAccessPlan, nextHubAccess, noHubAccess } from './hub-access-time.ts';

const nowMs = 1_700_000_000_000;
const hourMs = 3_600_000;
const context = { nowMs, random: 0.5, longestMs: hourMs };
const given = (expiresInMs: number, random = 0.5, longestMs = hourMs): number => {
  const plan: HubAccessPlan = { ...noHubAccess, access: 'Namespace', failures: 3, requestAtMs: nowMs };
  const input = { kind: 'given', atHubMs: 1000, expiresAtHubMs: 1000 + expiresInMs } as const;
  const next = nextHubAccess(plan, input, { nowMs, random, longestMs });
  expect(next.failures).toBe(0);
  return (next.requestAtMs ?? NaN) - nowMs;
};

const returned = (returnWithinMs: number) => ({ kind: 'returned', returnWithinMs }) as const;

test.each([
  { name: 'the first of a fleet', lifeMs: hourMs, random: 0, want: 0.6 * hourMs },
  { name: 'the last of a fleet', lifeMs: hourMs, random: 1, want: 0.8 * hourMs },
  { name: 'a short one', lifeMs: 600_000, random: 0.5, want: 420_000 },
  { name: 'one that ended before it came', lifeMs: -5000, random: 0.5, want: 1000 },
  { name: 'an end that is no time', lifeMs: NaN, random: 0.5, want: 1000 },
  { name: 'one that never ends', lifeMs: 1e15, random: 0.5, want: hourMs },
])('a token is renewed ahead: $name', ({ lifeMs, random, want }) => {
  expect(given(lifeMs, random)).toBe(want);
});

const told = (access: 'None' | 'Namespace', atHubMs = 1, isFresh = false): HubAccessInput => ({
  kind: 'told',
  access,
  atHubMs,
  isFresh,
});
const after = (...inputs: HubAccessInput[]): HubAccessPlan =>
  inputs.reduce((plan, input) => nextHubAccess(plan, input, context), noHubAccess);
const token: HubAccessInput = { kind: 'given', atHubMs: 2, expiresAtHubMs: 2 + hourMs };

test.each([
  { name: 'nothing', inputs: [], access: 'unknown', asksInMs: undefined },
  { name: 'no access', inputs: [told('None')], access: 'None', asksInMs: undefined },
  {
    name: 'access: the namespace is being made',
    inputs: [told('Namespace')],
    access: 'Namespace',
    asksInMs: 1000,
  },
  {
    name: 'what it knows already',
    inputs: [told('Namespace'), token, told('Namespace', 3)],
    access: 'Namespace',
    asksInMs: 0.7 * hourMs,
  },
  {
    name: 'that it is let in anew, perhaps with another key',
    inputs: [told('Namespace'), token, told('Namespace', 3, true)],
    access: 'Namespace',
    asksInMs: 1000,
  },
  {
    name: 'that access is withdrawn',
    inputs: [told('Namespace'), token, told('None', 3)],
    access: 'None',
    asksInMs: undefined,
  },
  {
    name: 'older news after newer',
    inputs: [told('None', 9), told('Namespace', 3)],
    access: 'None',
    asksInMs: undefined,
  },
  {
    name: 'trouble after it was withdrawn',
    inputs: [told('None'), { kind: 'refused', retryAfterMs: 5000 } as const],
    access: 'None',
    asksInMs: undefined,
  },
  {
    name: 'trouble of the hub',
    inputs: [told('Namespace'), { kind: 'asked' } as const, { kind: 'refused', retryAfterMs: 5000 } as const],
    access: 'Namespace',
    asksInMs: 5000,
  },
  {
    name: 'nothing while it was away',
    inputs: [told('None'), returned(0)],
    access: 'None',
    asksInMs: 15_000,
  },
  {
    name: 'nothing while it was away with access',
    inputs: [told('Namespace'), token, returned(0)],
    access: 'Namespace',
    asksInMs: 0.7 * hourMs,
  },
  {
    name: 'nothing while it was away, by a hub of many',
    inputs: [told('None'), returned(640_000)],
    access: 'None',
    asksInMs: 320_000,
  },
])('told $name', ({ inputs, access, asksInMs }) => {
  const plan = after(...inputs);
  expect(plan.access).toBe(access);
  expect(plan.requestAtMs).toBe(asksInMs === undefined ? undefined : nowMs + asksInMs);
});

test('whose time came while the hub was away takes its turn with the others', () => {
  const plan = { ...noHubAccess, access: 'Namespace', requestAtMs: nowMs - 1 } as const;
  expect(nextHubAccess(plan, returned(640_000), { ...context, random: 0.5 }).requestAtMs).toBe(
    nowMs + 320_000,
  );
});

test('whatever a hub says: who may have access asks again, within an hour and not at once; who may not never asks', () => {
  const anInput = fc.oneof(
    fc.record({
      kind: fc.constant('told' as const),
      access: fc.constantFrom('None' as const, 'Namespace' as const),
      atHubMs: fc.integer(),
      isFresh: fc.boolean(),
    }),
    fc.constant({ kind: 'asked' as const }),
    fc.record({ kind: fc.constant('given' as const), atHubMs: fc.double(), expiresAtHubMs: fc.double() }),
    fc.record({ kind: fc.constant('refused' as const), retryAfterMs: fc.double() }),
  );
  const aRandom = fc.double({ min: 0, max: 1, noNaN: true });
  fc.assert(
    fc.property(fc.array(fc.tuple(anInput, aRandom)), (steps) => {
      let plan = after(told('Namespace', 0));
      for (const [input, random] of steps) {
        // Asked and answered only while there is something to ask for.
        if (plan.requestAtMs === undefined && input.kind !== 'told') continue;
        plan = nextHubAccess(plan, input, { ...context, random });
        const inMs = (plan.requestAtMs ?? nowMs) - nowMs;
        expect(plan.requestAtMs === undefined).toBe(plan.access === 'None');
        expect(inMs).toBeGreaterThanOrEqual(plan.access === 'Namespace' ? 500 : 0);
        expect(inMs).toBeLessThanOrEqual(hourMs);
      }
    }),
  );
});

test.each<HubAccessInput>([
  { kind: 'returned', returnWithinMs: 0 },
  { kind: 'told', access: 'Namespace', atHubMs: 10, isFresh: false },
])('whose clock was set back asks again within the longest life of a token all the same: $kind', (input) => {
  const plan = nextHubAccess(
    { ...noHubAccess, access: 'Namespace' },
    { kind: 'given', atHubMs: 1, expiresAtHubMs: 3_600_001 },
    { ...context, nowMs: 28_800_000 },
  );
  const now = { ...context, nowMs: 60_000 };
  const { requestAtMs = Infinity } = nextHubAccess(plan, input, now);
  expect(requestAtMs - now.nowMs).toBeLessThanOrEqual(context.longestMs);
});
