/** Enough to keep the stream busy with look-ups; more only wait for each other. */
const runningAtOnce = 64;
/** About two seconds of work; who comes later waits in vain, because the server gives up after five. */
const longestQueue = 2048;
/** The server's authorization timeout is 5 s: who has waited this long is gone, or will be before the reply. */
const staleAfterMs = 4000;

interface Waiting {
  readonly sinceMs: number;
  work(): Promise<void>;
}

export interface CalloutQueueOptions {
  nowMs(): number;
  /** So many were given up without a reply. */
  dropped(): void;
}

/** `first`: members that come back; `last`: whoever is suspect; `next`: all others. */
export type CalloutTurn = 'first' | 'next' | 'last';

/**
 * Bounds what connections without credentials can have the registrar do. Three queues: after a long outage clusters that are alive
 * come before those that are new, and whoever is suspect is never locked out, only served last. When they are full the
 * oldest of the last go: theirs is the reply that nobody waits for any more.
 */
export function createCalloutQueue({ nowMs, dropped }: CalloutQueueOptions) {
  const queues: Readonly<Record<CalloutTurn, Waiting[]>> = { first: [], next: [], last: [] };
  const inOrder = [queues.first, queues.next, queues.last];
  const waiting = () => inOrder.reduce((sum, queue) => sum + queue.length, 0);
  const running = new Set<Promise<void>>();

  function next(): Waiting | undefined {
    for (const queue of inOrder) {
      for (let one = queue.shift(); one; one = queue.shift()) {
        if (nowMs() - one.sinceMs < staleAfterMs) return one;
        dropped();
      }
    }
    return undefined;
  }

  function pump(): void {
    while (running.size < runningAtOnce) {
      const one = next();
      if (!one) return;
      const work = one.work().finally(() => {
        running.delete(work);
        pump();
      });
      running.add(work);
    }
  }

  return {
    /** @param work - never rejects */
    push(turn: CalloutTurn, work: () => Promise<void>): void {
      if (waiting() >= longestQueue) {
        inOrder.findLast((queue) => queue.length > 0)?.shift();
        dropped();
      }
      queues[turn].push({ sinceMs: nowMs(), work });
      pump();
    },
    /** Waits for everything that is under way or waits. */
    async drain(): Promise<void> {
      while (running.size > 0) await Promise.allSettled(running);
    },
    waiting,
  };
}
