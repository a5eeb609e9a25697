/**
 * Puts what comes close together into batches: the first goes at once, and who comes within the interval after a batch goes with
 * the next one.
 * @param intervalMs - asked when somebody comes
 * @returns resolves when one's batch goes
 */
export function inBatches(intervalMs: () => number): () => Promise<void> {
  let lastAtMs = Number.NEGATIVE_INFINITY;
  let next: Promise<void> | undefined;
  return () => {
    const waitMs = lastAtMs + intervalMs() - performance.now();
    if (next === undefined && waitMs <= 0) {
      lastAtMs = performance.now();
      return Promise.resolve();
    }
    next ??= new Promise((resolve) => {
      setTimeout(
        () => {
          lastAtMs = performance.now();
          next = undefined;
          resolve();
        },
        Math.max(0, waitMs),
      );
    });
    return next;
  };
}
