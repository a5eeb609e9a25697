/** What the hub has said of a cluster so far; `neverSeen` until its first beat after an admission. */
export type LivenessState = 'neverSeen' | 'ready' | 'suspect' | 'unreachable' | 'stopped';

/** Why; becomes the reason of the condition Ready. */
export type LivenessCause = 'Alive' | 'ConnectionLost' | 'NoBeats' | 'Unreachable' | 'AgentStopped';

/** All that a judgement needs. Times are of one monotonic clock, in ms. */
export interface LivenessView {
  readonly state: LivenessState;
  /** A beat was heard since the state was set. */
  readonly beatSinceChange: boolean;
  /** The newest beat was a goodbye. */
  readonly saidGoodbye: boolean;
  readonly lastBeatMs: number;
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
      readonly state: Exclude<LivenessState, 'neverSeen'>;
      readonly cause: LivenessCause;
      readonly silent: boolean;
    }
  /** Nothing yet; look again at `untilMs` (Infinity: only a signal can change it). */
  | { readonly kind: 'stays'; readonly untilMs: number; readonly silent: boolean };

/** One missed beat and a half counts as silence (for the storm guard); two make the cluster suspect. */
const silentAfterIntervals = 1.5;
const suspectAfterIntervals = 2;

const only = (untilMs: number, silent: boolean): LivenessVerdict => ({ kind: 'stays', untilMs, silent });

const silentAt = (quietSinceMs: number, intervalMs: number) =>
  quietSinceMs + silentAfterIntervals * intervalMs;
const overdueAt = (quietSinceMs: number, intervalMs: number, graceMs: number) =>
  quietSinceMs + Math.min(suspectAfterIntervals * intervalMs, graceMs);

/**
 * Until when nothing follows for a cluster that is ready and of which nothing else is known, if no more beats come: what a
 * healthy one is asked each time, in plain numbers, because it must not allocate.
 */
export function healthyUntilMs(quietSinceMs: number, intervalMs: number, graceMs: number): number {
  return Math.min(silentAt(quietSinceMs, intervalMs), overdueAt(quietSinceMs, intervalMs, graceMs));
}

function judgeReady(view: LivenessView, nowMs: number): LivenessVerdict {
  const { intervalMs, graceMs } = view;
  const quietSinceMs = Math.max(view.lastBeatMs, view.listeningSinceMs);
  const lostMs = view.connectionLostMs;
  const silentAtMs = silentAt(quietSinceMs, intervalMs);
  const overdueAtMs = overdueAt(quietSinceMs, intervalMs, graceMs);
  const suspectAtMs =
    lostMs === undefined ? Infinity : Math.max(lostMs, view.listeningSinceMs) + view.suspectAfterMs;
  const silent = lostMs !== undefined || nowMs >= silentAtMs;
  if (nowMs >= suspectAtMs) return { kind: 'becomes', state: 'suspect', cause: 'ConnectionLost', silent };
  if (nowMs >= overdueAtMs) return { kind: 'becomes', state: 'suspect', cause: 'NoBeats', silent: true };
  return only(Math.min(suspectAtMs, silent ? overdueAtMs : Math.min(silentAtMs, overdueAtMs)), silent);
}

/**
 * What follows for a cluster from what was heard of it, and until when that holds (design, decision 5).
 * A signal only changes the view; the same view always gives the same verdict, so that signals may come twice or late.
 */
export function judgeLiveness(view: LivenessView, nowMs: number): LivenessVerdict {
  if (view.saidGoodbye && (view.state === 'ready' || view.beatSinceChange)) {
    // A goodbye as the first sign of life of a new admission is no join.
    if (view.state === 'stopped' || view.state === 'neverSeen') return only(Infinity, false);
    return { kind: 'becomes', state: 'stopped', cause: 'AgentStopped', silent: false };
  }
  if (view.state === 'ready') return judgeReady(view, nowMs);
  if (view.beatSinceChange) return { kind: 'becomes', state: 'ready', cause: 'Alive', silent: false };
  if (view.state !== 'suspect') return only(Infinity, false);
  const unreachableAtMs = Math.max(view.lastBeatMs, view.listeningSinceMs) + view.graceMs;
  if (nowMs < unreachableAtMs) return only(unreachableAtMs, true);
  return { kind: 'becomes', state: 'unreachable', cause: 'Unreachable', silent: true };
}
