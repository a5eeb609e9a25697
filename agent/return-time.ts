import { type BackOff, fullJitterMs } from './back-off.ts';

/** An agent that is told nonsense is back in a moment, or within the hour. */
const bounds = { leastMs: 1000, mostMs: 3_600_000 };
/** The first try after a connection is lost comes within this share of the time: mostly it is the only one that was. */
const firstShare = 1 / 20;
/** Later than that a lone agent would miss a beat. */
const firstShareOfInterval = 1 / 2;
/** One without credentials costs the hub twice: a word of the registrar, and a second connection with what it was given. */
const lapsedFactor = 2;

/** What the hub says of the return of its fleet, within what makes sense; undefined: each as it likes. */
export function boundedReturn(withinMs: number | undefined): number | undefined {
  if (withinMs === undefined || !Number.isFinite(withinMs)) return undefined;
  return Math.min(bounds.mostMs, Math.max(bounds.leastMs, withinMs));
}

/**
 * How long to wait before the next try to connect. A fleet that lost its hub must not come back together: who is refused a
 * connection tries again at any moment of the time over which the hub wants its fleet to return.
 * @param failures - how many in a row; 1 when a connection that stood was lost
 * @param random - 0 to 1
 */
export function reconnectWaitMs(
  patience: BackOff,
  about: {
    failures: number;
    random: number;
    beatIntervalMs: number;
    returnWithinMs: number | undefined;
    /** Its credentials have ended: those whose have not come first. */
    isLapsed: boolean;
  },
): number {
  const { failures, random, beatIntervalMs, returnWithinMs = 0, isLapsed } = about;
  const longestMs = Math.max(patience.longestMs, returnWithinMs) * (isLapsed ? lapsedFactor : 1);
  const latestFirstMs = Math.max(patience.firstMs, beatIntervalMs * firstShareOfInterval);
  const firstMs = Math.min(latestFirstMs, Math.max(patience.firstMs, returnWithinMs * firstShare));
  return fullJitterMs({ firstMs, longestMs }, failures, random);
}
