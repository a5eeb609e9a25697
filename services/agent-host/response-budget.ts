/**
 * How much one member may make us read in a while, over all its answers: a list of nodes comes in pages, and a hostile server
 * has always one more.
 * @returns whether so many more bytes are still within it; once they are not, nothing is until the while is over
 */
export function createResponseBudget(options: {
  readonly maxBytes: number;
  readonly windowMs: number;
  nowMs(): number;
}): (sizeBytes: number) => boolean {
  const { maxBytes, windowMs, nowMs } = options;
  let spentBytes = 0;
  let windowEndsAtMs = -Infinity;
  return (sizeBytes) => {
    if (nowMs() >= windowEndsAtMs) {
      spentBytes = 0;
      windowEndsAtMs = nowMs() + windowMs;
    }
    spentBytes += sizeBytes;
    return spentBytes <= maxBytes;
  };
}
