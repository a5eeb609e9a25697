/** A token bucket: so many writes a second, and no more than a second's worth at once. First come, first served. */
export interface WriteBudget {
  /** Resolves when one write may go. */
  take(): Promise<void>;
  /** How many wait. */
  waiting(): number;
  /** Lets everybody through who waits; nothing is limited any more. */
  close(): void;
}

export function createWriteBudget(
  writesPerSecond: number,
  nowMs: () => number = () => performance.now(),
): WriteBudget {
  const msPerWrite = 1000 / writesPerSecond;
  // The bucket as a point in time: how far ahead of the clock the writes that were let through have spent it.
  let spentUntilMs = Number.NEGATIVE_INFINITY;
  const waiting = new Map<NodeJS.Timeout, () => void>();
  let isClosed = false;
  return {
    take() {
      const now = nowMs();
      spentUntilMs = Math.max(spentUntilMs, now - 1000) + msPerWrite;
      const waitMs = spentUntilMs - now;
      if (isClosed || waitMs <= 0) return Promise.resolve();
      return new Promise((resolve) => {
        const timer = setTimeout(() => {
          waiting.delete(timer);
          resolve();
        }, waitMs);
        waiting.set(timer, resolve);
      });
    },
    waiting: () => waiting.size,
    close() {
      isClosed = true;
      for (const [timer, resolve] of waiting) {
        clearTimeout(timer);
        resolve();
      }
      waiting.clear();
    },
  };
}
