/** The clocks of services differ a little: an event may say an earlier time than those before it, or one that is still to come. */
export const clocksDifferMs = 60_000;

/**
 * Whether a clock wrote it that was wrong, and ahead: nothing is to wait until then, which may be years.
 * @param byMs - by more than right clocks are
 */
export function isAhead(atMs: number, nowMs: number, byMs = clocksDifferMs): boolean {
  return atMs > nowMs + byMs;
}

/** Whether it is less than so long ago; what a clock wrote that was ahead is not. */
export function isRecent(atMs: number, { nowMs, withinMs }: { nowMs: number; withinMs: number }): boolean {
  return nowMs - atMs < withinMs && !isAhead(atMs, nowMs);
}
