import { expect, test } from 'vitest';
import { decideLiveness, type LivenessFinding } from './liveness-event.ts';
import { aMember, liveness } from './tests/builders.ts';

const aFinding = (overrides: Partial<LivenessFinding>): LivenessFinding => ({
  from: 'ready',
  state: 'suspect',
  cause: 'NoBeats',
  nowMs: 40_000,
  lastBeatAtMs: 10_000,
  ...overrides,
});
const first = { from: 'neverSeen', state: 'ready', cause: 'Alive' } as const;

test.each([
  { name: 'the first beat joins', was: undefined, finding: first, want: 'joined' },
  {
    name: 'the first beat of a new admission joins',
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
    cause: 'NoBeats',
    partition: 3,
    joinedAtMs: 1500,
    sinceMs: 40_000,
    lastBeatAtMs: 10_000,
  });
  expect(event).toMatchObject({ reason: 'NoBeats', message: 'no beat for 30 s', head: { sequence: 9 } });
});
