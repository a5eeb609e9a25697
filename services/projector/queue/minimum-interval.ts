/** Spreads writes of details: the first one a moment late, so that a burst is one write, and then one in an interval. */
export interface MinimumInterval {
  /** How long the write of this key has to wait from now, in ms; 0: it may go. */
  waitMs(key: string): number;
  /** A write of this key went through, whatever was in it. */
  wrote(key: string): void;
  forget(key: string): void;
}

export function createMinimumInterval(options: {
  firstAfterMs: number;
  intervalMs: number;
}): MinimumInterval {
  const wroteAtMs = new Map<string, number>();
  const dueAtMs = new Map<string, number>();
  return {
    waitMs(key) {
      const now = performance.now();
      const nextAtMs = (wroteAtMs.get(key) ?? Number.NEGATIVE_INFINITY) + options.intervalMs;
      const due = dueAtMs.get(key) ?? Math.max(now + options.firstAfterMs, nextAtMs);
      dueAtMs.set(key, due);
      return Math.max(0, due - now);
    },
    wrote(key) {
      wroteAtMs.set(key, performance.now());
      dueAtMs.delete(key);
    },
    forget(key) {
      wroteAtMs.delete(key);
      dueAtMs.delete(key);
    },
  };
}
