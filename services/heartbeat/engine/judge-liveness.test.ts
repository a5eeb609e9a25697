import fc from 'fast-check';
import { expect, test } from 'vitest';
import { livenessStates } from './cluster-table.ts';
import { judgeLiveness, type LivenessView } from './judge-liveness.ts';

/** Ready, sendHeartbeat at 100 s, 15 s interval, 45 s grace: silent from 122.5, overdue at 130, unreachable at 145. */
const aView = (overrides: Partial<LivenessView> = {}): LivenessView => ({
  state: 'ready',
  heartbeatSinceChange: false,
  saidGoodbye: false,
  lastHeartbeatMs: 100_000,
  connectionLostMs: undefined,
  listeningSinceMs: 0,
  intervalMs: 15_000,
  graceMs: 45_000,
  suspectAfterMs: 2000,
  memberDown: false,
  steadySinceMs: Infinity,
  steadyForMs: 120_000,
  outageHeld: false,
  ...overrides,
});
const lost = { connectionLostMs: 110_000 };
const suspect = { state: 'suspect' } as const;
const flapping = { state: 'flapping', steadySinceMs: 0 } as const;

test.each([
  {
    name: 'ready, just heard',
    view: {},
    nowMs: 100_000,
    want: { kind: 'stays', untilMs: 122_500, silent: false },
  },
  {
    name: 'ready, a heartbeat and a half missing',
    view: {},
    nowMs: 122_500,
    want: { kind: 'stays', untilMs: 130_000, silent: true },
  },
  {
    name: 'ready, just before two are missing',
    view: {},
    nowMs: 129_999,
    want: { kind: 'stays', silent: true },
  },
  {
    name: 'ready, two missing',
    view: {},
    nowMs: 130_000,
    want: { kind: 'becomes', state: 'suspect', cause: 'NoHeartbeats' },
  },
  {
    name: 'ready, a grace shorter than two heartbeats',
    view: { graceMs: 20_000 },
    nowMs: 120_000,
    want: { state: 'suspect', cause: 'NoHeartbeats' },
  },
  {
    name: 'ready, silent while we did not receive',
    view: { listeningSinceMs: 125_000 },
    nowMs: 130_000,
    want: { kind: 'stays', untilMs: 147_500, silent: false },
  },
  {
    name: 'ready, connection just lost',
    view: lost,
    nowMs: 110_000,
    want: { kind: 'stays', untilMs: 112_000, silent: true },
  },
  {
    name: 'ready, connection lost for 2 s',
    view: lost,
    nowMs: 112_000,
    want: { kind: 'becomes', state: 'suspect', cause: 'ConnectionLost' },
  },
  {
    name: 'ready, connection lost, then we were paused',
    view: { ...lost, listeningSinceMs: 111_500 },
    nowMs: 112_000,
    want: { kind: 'stays', untilMs: 113_500 },
  },
  {
    name: 'ready, goodbye',
    view: { saidGoodbye: true },
    nowMs: 100_000,
    want: { kind: 'becomes', state: 'stopped', cause: 'AgentStopped' },
  },
  {
    name: 'suspect, within the grace',
    view: suspect,
    nowMs: 144_999,
    want: { kind: 'stays', untilMs: 145_000, silent: true },
  },
  {
    name: 'suspect, exactly at the end of the grace',
    view: suspect,
    nowMs: 145_000,
    want: { kind: 'becomes', state: 'unreachable', cause: 'Unreachable' },
  },
  {
    name: 'suspect, grace over while we did not receive',
    view: { ...suspect, listeningSinceMs: 140_000 },
    nowMs: 145_000,
    want: { kind: 'stays', untilMs: 185_000 },
  },
  {
    name: 'suspect, heard',
    view: { ...suspect, heartbeatSinceChange: true },
    nowMs: 999_000,
    want: { kind: 'becomes', state: 'ready', cause: 'Alive' },
  },
  {
    name: 'suspect, goodbye',
    view: { ...suspect, heartbeatSinceChange: true, saidGoodbye: true },
    nowMs: 101_000,
    want: { state: 'stopped' },
  },
  {
    name: 'unreachable, silent for ever',
    view: { state: 'unreachable' },
    nowMs: 1e9,
    want: { kind: 'stays', untilMs: Infinity },
  },
  {
    name: 'unreachable, heard',
    view: { state: 'unreachable', heartbeatSinceChange: true },
    nowMs: 1e9,
    want: { state: 'ready' },
  },
  {
    name: 'stopped, as it said',
    view: { state: 'stopped', saidGoodbye: true },
    nowMs: 1e9,
    want: { kind: 'stays', untilMs: Infinity },
  },
  {
    name: 'stopped, a second goodbye',
    view: { state: 'stopped', saidGoodbye: true, heartbeatSinceChange: true },
    nowMs: 1e9,
    want: { kind: 'stays' },
  },
  {
    name: 'stopped, heard',
    view: { state: 'stopped', heartbeatSinceChange: true },
    nowMs: 1e9,
    want: { state: 'ready' },
  },
  {
    name: 'ready, its member answers no more',
    view: { memberDown: true },
    nowMs: 100_000,
    want: { kind: 'becomes', state: 'memberDown', cause: 'MemberAPIDown' },
  },
  {
    name: 'member down, and it still is',
    view: { state: 'memberDown', memberDown: true },
    nowMs: 100_000,
    want: { kind: 'stays', untilMs: 122_500, silent: false },
  },
  {
    name: 'member down, and it answers again',
    view: { state: 'memberDown' },
    nowMs: 100_000,
    want: { kind: 'becomes', state: 'ready', cause: 'Alive' },
  },
  {
    name: 'member down, then silent',
    view: { state: 'memberDown', memberDown: true },
    nowMs: 130_000,
    want: { kind: 'becomes', state: 'suspect', cause: 'NoHeartbeats' },
  },
  {
    name: 'suspect, heard, its member does not answer',
    view: { ...suspect, heartbeatSinceChange: true, memberDown: true },
    nowMs: 999_000,
    want: { kind: 'becomes', state: 'memberDown' },
  },
  {
    name: 'flapping, a gap',
    view: { ...flapping, ...lost },
    nowMs: 130_000,
    want: { kind: 'stays', untilMs: 145_000, silent: true },
  },
  {
    name: 'flapping, gone',
    view: flapping,
    nowMs: 145_000,
    want: { kind: 'becomes', state: 'unreachable', cause: 'Unreachable' },
  },
  {
    name: 'flapping, a grace shorter than a heartbeat and a half',
    view: { ...flapping, steadySinceMs: Infinity, graceMs: 20_000 },
    nowMs: 110_000,
    want: { kind: 'stays', untilMs: 120_000, silent: false },
  },
  {
    name: 'flapping, not steady for long enough',
    view: flapping,
    nowMs: 119_999,
    want: { kind: 'stays', untilMs: 120_000, silent: false },
  },
  {
    name: 'flapping, steady',
    view: flapping,
    nowMs: 120_000,
    want: { kind: 'becomes', state: 'ready', cause: 'Alive' },
  },
  {
    name: 'flapping, steady, its member does not answer',
    view: { ...flapping, memberDown: true },
    nowMs: 120_000,
    want: { kind: 'stays' },
  },
  {
    name: 'flapping, goodbye',
    view: { ...flapping, saidGoodbye: true },
    nowMs: 100_000,
    want: { kind: 'stays' },
  },
  {
    name: 'flapping, a goodbye and nothing since for the grace',
    view: { ...flapping, saidGoodbye: true },
    nowMs: 1e9,
    want: { kind: 'becomes', state: 'stopped', cause: 'AgentStopped', silent: false },
  },
  {
    name: 'in an outage, two heartbeats missing',
    view: { outageHeld: true },
    nowMs: 144_999,
    want: { kind: 'stays', untilMs: 145_000, silent: true },
  },
  {
    name: 'in an outage, not heard for the grace',
    view: { outageHeld: true, ...lost },
    nowMs: 145_000,
    want: { kind: 'becomes', state: 'suspect', cause: 'OutageHeld' },
  },
  {
    name: 'in an outage, suspect',
    view: { ...suspect, outageHeld: true },
    nowMs: 1e9,
    want: { kind: 'stays', untilMs: Infinity, silent: true },
  },
  {
    name: 'in an outage, flapping',
    view: { ...flapping, outageHeld: true },
    nowMs: 1e9,
    want: { kind: 'stays', untilMs: Infinity },
  },
  {
    name: 'never seen, first heartbeat, its member does not answer',
    view: { state: 'neverSeen', heartbeatSinceChange: true, memberDown: true },
    nowMs: 1e9,
    want: { state: 'ready', cause: 'Alive' },
  },
  {
    name: 'never seen, silent',
    view: { state: 'neverSeen' },
    nowMs: 1e9,
    want: { kind: 'stays', untilMs: Infinity },
  },
  {
    name: 'never seen, first heartbeat',
    view: { state: 'neverSeen', heartbeatSinceChange: true },
    nowMs: 1e9,
    want: { state: 'ready', cause: 'Alive' },
  },
  {
    name: 'never seen, a goodbye first',
    view: { state: 'neverSeen', heartbeatSinceChange: true, saidGoodbye: true },
    nowMs: 1,
    want: { kind: 'stays' },
  },
] as const)('$name', ({ view, nowMs, want }) => {
  expect(judgeLiveness(aView(view), nowMs)).toMatchObject(want);
});

const anyTimeMs = fc.integer({ min: 0, max: 500_000 });
const anyView = fc.record({
  state: fc.constantFrom(...livenessStates),
  heartbeatSinceChange: fc.boolean(),
  saidGoodbye: fc.boolean(),
  lastHeartbeatMs: anyTimeMs,
  connectionLostMs: fc.option(anyTimeMs, { nil: undefined }),
  listeningSinceMs: anyTimeMs,
  intervalMs: fc.integer({ min: 1000, max: 60_000 }),
  graceMs: fc.integer({ min: 1000, max: 180_000 }),
  suspectAfterMs: fc.integer({ min: 0, max: 10_000 }),
  memberDown: fc.boolean(),
  steadySinceMs: fc.oneof(anyTimeMs, fc.constant(Infinity)),
  steadyForMs: fc.integer({ min: 1000, max: 200_000 }),
  outageHeld: fc.boolean(),
});

test('nobody is unreachable before a whole grace since the last heartbeat and since we can hear', () => {
  fc.assert(
    fc.property(anyView, anyTimeMs, (view, nowMs) => {
      const verdict = judgeLiveness(view, nowMs);
      const quietMs = nowMs - Math.max(view.lastHeartbeatMs, view.listeningSinceMs);
      return verdict.kind === 'stays' || verdict.state !== 'unreachable' || quietMs >= view.graceMs;
    }),
  );
});

test('what stays, stays until the moment it names, and that moment is in the future', () => {
  fc.assert(
    fc.property(anyView, anyTimeMs, fc.double({ min: 0, max: 1, noNaN: true }), (view, nowMs, share) => {
      const verdict = judgeLiveness(view, nowMs);
      if (verdict.kind === 'becomes') return true;
      const laterMs = Math.min(
        nowMs + share * (Math.min(verdict.untilMs, 1e9) - nowMs),
        verdict.untilMs - 0.001,
      );
      return verdict.untilMs > nowMs && (laterMs <= nowMs || judgeLiveness(view, laterMs).kind === 'stays');
    }),
  );
});

test('a transition leads to another state', () => {
  fc.assert(
    fc.property(anyView, anyTimeMs, (view, nowMs) => {
      const verdict = judgeLiveness(view, nowMs);
      return verdict.kind === 'stays' || verdict.state !== view.state;
    }),
  );
});
