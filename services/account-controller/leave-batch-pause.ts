/** Of the NATS server's time, and the account-controller's. */
const pausesPerBatch = 4;
const leastPauseMs = 1000;
/** Whoever leaves is out by then, and told of it before its time to clean up is over (`leaveWait`). */
const mostPauseMs = 10_000;

/**
 * How long whoever leaves waits for the next batch. At each push of claims the server checks every connection of the account again
 * (0.2 ms each), so a batch of a large fleet takes seconds; four fifths of the time belong to others.
 * @param tookMs - the batch before: the push, until every server acts by it and has no connection left
 */
export function pauseAfterMs(tookMs: number): number {
  return Math.min(Math.max(leastPauseMs, pausesPerBatch * tookMs), mostPauseMs);
}
