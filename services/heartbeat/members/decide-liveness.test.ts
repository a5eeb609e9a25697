import type { Liveness } from '@rollcall/shared/events';
import { expect, test } from 'vitest';
import { decideLiveness, type LivenessFinding } from './decide-liveness.ts';
import { aMember, liveness } from '../tests/builders.ts';

const aFinding = (overrides: Partial<LivenessFinding>): LivenessFinding => ({
  from: 'ready',
  state: 'suspect',
  cause: 'NoHeartbeats',
  nowMs: 40_000,
  lastHeartbeatAtMs: 10_000,
  flap: { losses: 3, windowMs: 60_000 },
  ...overrides,
});
const lostThrice: Pick<Liveness, 'lossesAtMs'> = { lossesAtMs: [1000, 20_000, 39_000] };
const first = { from: 'neverSeen', state: 'ready', cause: 'Alive' } as const;

test.each([
  { name: 'the first heartbeat joins', was: undefined, finding: first, want: 'joined' },
  {
    name: 'the first heartbeat of a new admission joins',
    was: { joinedAtMs: 900 },
    finding: first,
    want: 'joined',
  },
  { name: 'another replica saw it join', was: {}, finding: first, want: undefined },
  { name: 'silence', was: {}, finding: {}, want: 'suspect' },
  { name: 'another replica was faster', was: { state: 'suspect' }, finding: {}, want: undefined },
  {
    name: 'an old finding about a state that is over',
    was: { state: 'stopped' },
    finding: { from: 'unreachable', state: 'ready' },
    want: undefined,
  },
  {
    name: 'the grace is over',
    was: { state: 'suspect' },
    finding: { from: 'suspect', state: 'unreachable' },
    want: 'unreachable',
  },
  {
    name: 'heard again',
    was: { state: 'unreachable' },
    finding: { from: 'unreachable', state: 'ready' },
    want: 'ready',
  },
  {
    name: 'the API server of the member is away',
    was: {},
    finding: { state: 'memberDown', cause: 'MemberAPIDown' },
    want: 'member-down',
  },
  {
    name: 'another replica was faster to say so',
    was: { cause: 'MemberAPIDown' },
    finding: { state: 'memberDown', cause: 'MemberAPIDown' },
    want: undefined,
  },
  {
    name: 'back for the third time within the window',
    was: { state: 'suspect', ...lostThrice },
    finding: { from: 'suspect', state: 'ready', cause: 'Alive' },
    want: 'flapping',
  },
  {
    name: 'back for the third time, the first too long ago',
    was: { state: 'suspect', ...lostThrice },
    finding: { from: 'suspect', state: 'ready', cause: 'Alive', nowMs: 61_000 },
    want: 'ready',
  },
  {
    name: 'steady again',
    was: { cause: 'Flapping', ...lostThrice },
    finding: { from: 'flapping', state: 'ready', cause: 'Alive' },
    want: 'ready',
  },
  { name: 'goodbye', was: {}, finding: { state: 'stopped', cause: 'AgentStopped' }, want: 'stopped' },
] as const)('$name: $want', ({ was, finding, want }) => {
  expect(decideLiveness(aMember(was), aFinding(finding))[0]?.definition.type).toBe(want);
});

test('a cluster that is denied gets nothing written', () => {
  expect(decideLiveness(aMember(liveness, 'denied'), aFinding({}))).toEqual([]);
});

test('the section keeps when it joined, and fields of a newer version', () => {
  const [event] = decideLiveness(aMember({ partition: 3 }), aFinding({}));
  expect(event?.section).toEqual({
    state: 'suspect',
    key: 'UA',
    cause: 'NoHeartbeats',
    lossesAtMs: [40_000],
    partition: 3,
    joinedAtMs: 1500,
    sinceMs: 40_000,
    lastHeartbeatAtMs: 10_000,
  });
  expect(event).toMatchObject({
    reason: 'NoHeartbeats',
    message: 'no heartbeat for 30 s',
    head: { sequence: 9 },
  });
});

test.each([
  { name: 'a loss is noted', finding: {}, want: [30_000, 40_000] },
  { name: 'one of an outage is not', finding: { cause: 'OutageHeld' }, want: [30_000] },
  { name: 'a goodbye is', finding: { state: 'stopped', cause: 'AgentStopped' }, want: [30_000, 40_000] },
  {
    name: 'an API server that goes away is',
    finding: { state: 'memberDown', cause: 'MemberAPIDown' },
    want: [30_000, 40_000],
  },
] as const)('$name', ({ finding, want }) => {
  const [event] = decideLiveness(aMember({ lossesAtMs: [-25_000, 30_000, 100_001] }), aFinding(finding));
  expect(event?.section).toMatchObject({ lossesAtMs: want });
});

test('who has been steady begins anew, and is shown as an older version knows it', () => {
  const losses = [1000, 20_000, 39_000];
  const back = { from: 'suspect', state: 'ready', cause: 'Alive' } as const;
  const [flaps] = decideLiveness(aMember({ state: 'suspect', lossesAtMs: losses }), aFinding(back));
  expect(flaps?.section).toMatchObject({ state: 'ready', cause: 'Flapping', lossesAtMs: losses });
  const [steady] = decideLiveness(
    aMember({ cause: 'Flapping', lossesAtMs: losses }),
    aFinding({ ...back, from: 'flapping' }),
  );
  expect(steady?.section).not.toHaveProperty('lossesAtMs');
});

test('who has heard no heartbeat since the admission goes by the one that another replica wrote', () => {
  const [event] = decideLiveness(
    aMember({ lastHeartbeatAtMs: 9000 }),
    aFinding({ lastHeartbeatAtMs: -Infinity }),
  );
  expect(event).toMatchObject({
    reason: 'NoHeartbeats',
    message: 'no heartbeat for 31 s',
    section: { lastHeartbeatAtMs: 9000 },
  });
});
