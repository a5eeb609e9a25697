import { type Priority, priorities } from '../queue/priority.ts';

/**
 * A token bucket: so many writes a second, and no more than a second's worth at once. Of those that wait, the most important
 * goes first.
 */
export interface WriteBudget {
  /** Resolves when one write may go. */
  take(priority: Priority): Promise<void>;
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
  const queues: Record<Priority, (() => void)[]> = {
    transition: [],
    departure: [],
    fact: [],
    count: [],
  };
  const inOrder = priorities.map((priority) => queues[priority]);
  let timer: NodeJS.Timeout | undefined;
  let isClosed = false;

  function letThrough(): void {
    timer = undefined;
    for (;;) {
      const queue = inOrder.find(({ length }) => length > 0);
      if (!queue) return;
      const now = nowMs();
      const spentWithThisMs = Math.max(spentUntilMs, now - 1000) + msPerWrite;
      if (spentWithThisMs > now) {
        timer = setTimeout(letThrough, spentWithThisMs - now);
        return;
      }
      spentUntilMs = spentWithThisMs;
      queue.shift()?.();
    }
  }
  return {
    take(priority) {
      if (isClosed) return Promise.resolve();
      return new Promise((resolve) => {
        queues[priority].push(resolve);
        if (timer === undefined) letThrough();
      });
    },
    waiting: () => inOrder.reduce((sum, { length }) => sum + length, 0),
    close() {
      isClosed = true;
      clearTimeout(timer);
      for (const queue of inOrder) for (const resolve of queue.splice(0)) resolve();
    },
  };
}
