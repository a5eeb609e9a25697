import type { LivenessState } from '@rollcall/shared/events';

/** Why; becomes the reason of the condition Ready. */
export type LivenessCause =
  | 'Alive'
  | 'ConnectionLost'
  | 'NoHeartbeats'
  | 'OutageHeld'
  | 'Unreachable'
  | 'AgentStopped'
  | 'MemberAPIDown'
  | 'Flapping';

/** Whether the agent is heard in that state, so that it can fall silent. */
export function isHeard(state: LivenessState): boolean {
  return state === 'ready' || state === 'memberDown' || state === 'flapping';
}

/** All that a judgement needs. Times are of one monotonic clock, in ms. */
export interface LivenessView {
  readonly state: LivenessState;
  /** A heartbeat was heard since the state was set. */
  readonly heartbeatSinceChange: boolean;
  /** The newest heartbeat was a goodbye. */
  readonly saidGoodbye: boolean;
  /** The newest heartbeat says that the member's API server does not answer. */
  readonly memberDown: boolean;
  /** Of a flapping cluster: since when it has been heard without a gap; Infinity while it is not. */
  readonly steadySinceMs: number;
  /** For how long a flapping cluster must be heard without a gap to be believed again. */
  readonly steadyForMs: number;
  /** An outage is on: silence is most likely the hub's own. */
  readonly outageHeld: boolean;
  readonly lastHeartbeatMs: number;
  /** When the last connection went away; undefined while one is open, and when nobody knows. */
  readonly connectionLostMs: number | undefined;
  /** Since when this process can hear: its start, or the end of its last pause or lost connection. Silence before counts for nothing. */
  readonly listeningSinceMs: number;
  readonly intervalMs: number;
  readonly graceMs: number;
  readonly suspectAfterMs: number;
}

export type LivenessVerdict =
  | {
      readonly kind: 'becomes';
      readonly state: Exclude<LivenessState, 'neverSeen' | 'flapping'>;
      readonly cause: LivenessCause;
      readonly silent: boolean;
    }
  /** Nothing yet; look again at `untilMs` (Infinity: only a signal can change it). */
  | { readonly kind: 'stays'; readonly untilMs: number; readonly silent: boolean };

/** One missed heartbeat and a half counts as silence (for the outage guard); two make the cluster suspect. */
const silentAfterIntervals = 1.5;
const suspectAfterIntervals = 2;

const only = (untilMs: number, silent: boolean): LivenessVerdict => ({ kind: 'stays', untilMs, silent });

const silentAt = (quietSinceMs: number, intervalMs: number) =>
  quietSinceMs + silentAfterIntervals * intervalMs;
const overdueAt = (quietSinceMs: number, intervalMs: number, graceMs: number) =>
  quietSinceMs + Math.min(suspectAfterIntervals * intervalMs, graceMs);

/**
 * Until when nothing follows for a cluster that is ready and of which nothing else is known, if no more heartbeats come: what a
 * healthy one is asked each time, in plain numbers, because it must not allocate.
 */
export function healthyUntilMs(quietSinceMs: number, intervalMs: number, graceMs: number): number {
  return Math.min(silentAt(quietSinceMs, intervalMs), overdueAt(quietSinceMs, intervalMs, graceMs));
}

/** When silence becomes a transition, and which one. */
function goesAway(view: LivenessView, quietSinceMs: number): { atMs: number; cause: LivenessCause } {
  const { intervalMs, graceMs, connectionLostMs: lostMs } = view;
  const graceOverAtMs = quietSinceMs + graceMs;
  // Nobody is called dead in an outage; but who has not been heard for a whole grace is not called alive either.
  if (view.outageHeld) return { atMs: graceOverAtMs, cause: 'OutageHeld' };
  const overdueAtMs = overdueAt(quietSinceMs, intervalMs, graceMs);
  const suspectAtMs =
    lostMs === undefined ? Infinity : Math.max(lostMs, view.listeningSinceMs) + view.suspectAfterMs;
  // Of two reasons the one that was heard.
  return {
    atMs: Math.min(suspectAtMs, overdueAtMs),
    cause: lostMs === undefined ? 'NoHeartbeats' : 'ConnectionLost',
  };
}

/** One that flaps is not written down again for each gap: only when it is gone for good, and when it has been steady. */
function judgeFlapping(view: LivenessView, quietSinceMs: number, nowMs: number): LivenessVerdict {
  const silentAtMs = silentAt(quietSinceMs, view.intervalMs);
  const silent = view.connectionLostMs !== undefined || nowMs >= silentAtMs;
  const unreachableAtMs = view.outageHeld ? Infinity : quietSinceMs + view.graceMs;
  if (nowMs >= unreachableAtMs)
    return view.saidGoodbye
      ? { kind: 'becomes', state: 'stopped', cause: 'AgentStopped', silent: false }
      : { kind: 'becomes', state: 'unreachable', cause: 'Unreachable', silent: true };
  if (silent) return only(unreachableAtMs, true);
  const steadyAtMs = view.memberDown || view.saidGoodbye ? Infinity : view.steadySinceMs + view.steadyForMs;
  if (nowMs >= steadyAtMs) return { kind: 'becomes', state: 'ready', cause: 'Alive', silent: false };
  return only(Math.min(silentAtMs, steadyAtMs, unreachableAtMs), false);
}

function judgeHeard(view: LivenessView, nowMs: number): LivenessVerdict {
  const quietSinceMs = Math.max(view.lastHeartbeatMs, view.listeningSinceMs);
  if (view.state === 'flapping') return judgeFlapping(view, quietSinceMs, nowMs);
  const silentAtMs = silentAt(quietSinceMs, view.intervalMs);
  const silent = view.connectionLostMs !== undefined || nowMs >= silentAtMs;
  const { atMs, cause } = goesAway(view, quietSinceMs);
  if (nowMs >= atMs) return { kind: 'becomes', state: 'suspect', cause, silent: true };
  if (view.memberDown !== (view.state === 'memberDown')) return { ...heardAs(view), silent };
  return only(silent ? atMs : Math.min(silentAtMs, atMs), silent);
}

/** What a heartbeat makes of a cluster: of one that has just been admitted always a ready one, which is how it joins. */
function heardAs({ memberDown, state }: LivenessView): LivenessVerdict & { kind: 'becomes' } {
  return memberDown && state !== 'neverSeen'
    ? { kind: 'becomes', state: 'memberDown', cause: 'MemberAPIDown', silent: false }
    : { kind: 'becomes', state: 'ready', cause: 'Alive', silent: false };
}

/**
 * What follows for a cluster from what was heard of it, and until when that holds (principle 5).
 * A signal only changes the view; the same view always gives the same verdict, so that signals may come twice or late.
 */
export function judgeLiveness(view: LivenessView, nowMs: number): LivenessVerdict {
  if (view.saidGoodbye && view.state !== 'flapping' && (isHeard(view.state) || view.heartbeatSinceChange)) {
    // A goodbye as the first sign of life of a new admission is no join.
    if (view.state === 'stopped' || view.state === 'neverSeen') return only(Infinity, false);
    return { kind: 'becomes', state: 'stopped', cause: 'AgentStopped', silent: false };
  }
  if (isHeard(view.state)) return judgeHeard(view, nowMs);
  if (view.heartbeatSinceChange) return heardAs(view);
  if (view.state !== 'suspect') return only(Infinity, false);
  if (view.outageHeld) return only(Infinity, true);
  const unreachableAtMs = Math.max(view.lastHeartbeatMs, view.listeningSinceMs) + view.graceMs;
  if (nowMs < unreachableAtMs) return only(unreachableAtMs, true);
  return { kind: 'becomes', state: 'unreachable', cause: 'Unreachable', silent: true };
}
