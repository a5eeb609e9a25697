/** Enough to keep the stream busy with look-ups; more only wait for each other. */
const runningAtOnce = 64;
/** About two seconds of work; who comes later waits in vain, because the server gives up after five. */
const longestQueue = 2048;
/** The server's authorization timeout is 5 s: who has waited this long is gone, or will be before the answer. */
const staleAfterMs = 4000;

interface Waiting {
  readonly sinceMs: number;
  work(): Promise<void>;
}

export interface CalloutQueueOptions {
  nowMs(): number;
  /** So many were given up without an answer. */
  dropped(): void;
}

/**
 * Bounds what connections without credentials can have the registrar do. Two queues: whoever is not suspect goes first, so
 * that an address from which many failed is never locked out, only served last. When both are full the oldest go: theirs is
 * the answer that nobody waits for any more.
 */
export function createCalloutQueue({ nowMs, dropped }: CalloutQueueOptions) {
  const queues = { first: [] as Waiting[], last: [] as Waiting[] };
  const running = new Set<Promise<void>>();

  function next(): Waiting | undefined {
    for (const queue of [queues.first, queues.last]) {
      for (let waiting = queue.shift(); waiting; waiting = queue.shift()) {
        if (nowMs() - waiting.sinceMs < staleAfterMs) return waiting;
        dropped();
      }
    }
    return undefined;
  }

  function pump(): void {
    while (running.size < runningAtOnce) {
      const waiting = next();
      if (!waiting) return;
      const work = waiting.work().finally(() => {
        running.delete(work);
        pump();
      });
      running.add(work);
    }
  }

  return {
    /** @param work - never rejects */
    push(turn: 'first' | 'last', work: () => Promise<void>): void {
      if (queues.first.length + queues.last.length >= longestQueue) {
        (queues.last.length > 0 ? queues.last : queues.first).shift();
        dropped();
      }
      queues[turn].push({ sinceMs: nowMs(), work });
      pump();
    },
    /** Waits for everything that is under way or waits. */
    async drain(): Promise<void> {
      while (running.size > 0) await Promise.allSettled(running);
    },
    waiting: () => queues.first.length + queues.last.length,
  };
}
