import { type BackOff, fullJitterMs } from '../hub/back-off.ts';

/** An agent that is told nonsense is back in a moment, or within the hour. */
const bounds = { leastMs: 1000, mostMs: 3_600_000 };
/** Whoever is cut off alone and cannot know it is back before it has missed more heartbeats than that. */
const missedHeartbeats = 2;
/** One without credentials costs the hub twice: a word of the registrar, and a second connection with what it was given. */
const lapsedFactor = 2;
/** Of a small fleet that finds nobody: it looks again within a fifth of the time that the hub has been away, and a second. */
const unansweredGrowth = 1.05;
/** Cheap for a server without a registrar: of 10,000 agents it refuses 170 a second. */
const longestLapsedRestMs = 60_000;

/** What the hub says of the return of its fleet, within what makes sense; undefined: each as it likes. */
export function boundedReturn(withinMs: number | undefined): number | undefined {
  if (withinMs === undefined || !Number.isFinite(withinMs)) return undefined;
  return Math.min(bounds.mostMs, Math.max(bounds.leastMs, withinMs));
}

/** What an agent knows when it has no connection. */
export interface Cut {
  /** In a row; 1 when a connection that stood was lost. */
  readonly failures: number;
  /** Of these: tries of a member that nobody listened to, which cost the hub nothing. */
  readonly unanswered: number;
  /** 0 to 1. */
  readonly random: number;
  /** The server said that it ends this connection, so it is no outage: its fleet has lost nothing. */
  readonly isAlone: boolean;
  readonly heartbeatIntervalMs: number;
  /** As the hub has said; undefined in a small fleet. */
  readonly returnWithinMs: number | undefined;
  /** Its credentials have ended: those whose have not come first. */
  readonly isLapsed: boolean;
}

/**
 * How long to wait before the next try to connect. A small fleet has its hub again soon after it is back; only a hub that answers, and
 * too late, is left alone for twice as long each time. Handshakes that come together all come too late: in a large fleet the first try is
 * made at any moment of the time over which the hub wants it to return, and each further one half of that time later or up to
 * the whole, so that in each second about as many come as in any other.
 */
export function reconnectWaitMs(patience: BackOff, cut: Cut): number {
  const { failures, unanswered, random, isAlone, heartbeatIntervalMs, returnWithinMs, isLapsed } = cut;
  const factor = isLapsed ? lapsedFactor : 1;
  if (returnWithinMs === undefined || (isAlone && failures === 1)) {
    const longestMs = patience.longestMs * factor;
    const quiet = isLapsed ? 0 : unanswered;
    const firstMs = Math.min(longestMs, patience.firstMs * unansweredGrowth ** quiet);
    return fullJitterMs({ firstMs, longestMs }, Math.max(1, failures - quiet), random);
  }
  const latestMs = Math.max(patience.firstMs, missedHeartbeats * heartbeatIntervalMs);
  if (failures === 1) return Math.round(Math.min(returnWithinMs * factor, latestMs) * random);
  const wholeMs = Math.max(patience.longestMs, returnWithinMs) * factor;
  return Math.round(wholeMs * (0.5 + 0.5 * random));
}

/**
 * How long a member whose credentials have ended leaves a hub alone that did not let it in. Most likely nobody is there to judge its key:
 * a server whose registrar is away refuses at once (measured), which looks as if a person had to do something.
 * @param refusedRetryMs - what is left to others, who have never been members
 */
export function lapsedDelayMs(refusedRetryMs: number, returnWithinMs = 0): number {
  return Math.max(Math.min(refusedRetryMs, longestLapsedRestMs), returnWithinMs * lapsedFactor);
}
