/** A fleet that would not fill it comes back as it likes, within a second: the server has five for a handshake. */
const leastReturnMs = 2500;
/** Agents that waited longer would rather be looked after by people. */
const mostReturnMs = 3_600_000;
/** Changed by doubling, and with room below, so that it is said a few times in the life of a fleet. */
const roomBelow = 0.35;

/** In the busiest second as many come as if all came in two thirds of the time (agent/session/reconnect-delay.ts). */
const peak = 1.5;

/**
 * Over how long the agents of a fleet spread their return after an outage, so that no more than so many come in a second.
 * @param current - what was said last; undefined: nothing
 * @returns undefined while nothing needs to be said
 */
export function wantedReturnMs(
  current: number | undefined,
  { clusters, returnsPerSecond }: { clusters: number; returnsPerSecond: number },
): number | undefined {
  const neededMs = (clusters / returnsPerSecond) * peak * 1000;
  const knownMs = current ?? leastReturnMs;
  const isLeast = knownMs <= leastReturnMs;
  if (neededMs <= knownMs && (isLeast || neededMs >= knownMs * roomBelow)) return current;
  const doublings = Math.ceil(Math.log2(Math.max(leastReturnMs, neededMs) / leastReturnMs));
  return Math.min(mostReturnMs, leastReturnMs * 2 ** doublings);
}
