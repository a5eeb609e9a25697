import { toRollcallError } from '@rollcall/shared/errors';
import type { Logger } from '@rollcall/shared/service';

const firstDelayMs = 100;
const longestDelayMs = 30_000;
/** Enough to fill a round trip to the bus; a list of thousands does not become thousands of reads at once. */
const defaultConcurrency = 16;

/** Brings things up to date by key: many wakes become one look, and what failed is looked at again. */
export interface Reconciler {
  wake(key: string): void;
  /** Takes no more wakes and waits for what runs. */
  drain(): Promise<void>;
}

/** @param options.handle - level-based: looks at how things are now; what it throws is logged and tried again */
export function createReconciler(options: {
  handle(key: string): Promise<void>;
  logger: Logger;
  /** How many looks run side by side. */
  concurrency?: number;
}): Reconciler {
  const { concurrency = defaultConcurrency } = options;
  const waiting = new Set<string>();
  const running = new Map<string, Promise<void>>();
  const failures = new Map<string, number>();
  /** One a key: who is woken meanwhile begins no second row of tries. */
  const timers = new Map<string, NodeJS.Timeout>();
  let isDraining = false;

  function later(key: string, thrown: unknown): void {
    const count = failures.get(key) ?? 0;
    const delayMs = Math.random() * Math.min(firstDelayMs * 2 ** Math.min(count, 10), longestDelayMs);
    failures.set(key, count + 1);
    options.logger.warn({ err: toRollcallError(thrown), object: key, delayMs }, 'will be looked at again');
    clearTimeout(timers.get(key));
    const again = () => {
      timers.delete(key);
      wake(key);
    };
    timers.set(key, setTimeout(again, delayMs));
  }

  async function run(key: string): Promise<void> {
    try {
      await options.handle(key);
      failures.delete(key);
      clearTimeout(timers.get(key));
      timers.delete(key);
    } catch (thrown) {
      if (!isDraining) later(key, thrown);
    } finally {
      running.delete(key);
      next();
    }
  }

  function next(): void {
    for (const key of waiting) {
      if (isDraining || running.size >= concurrency) return;
      if (running.has(key)) continue;
      waiting.delete(key);
      running.set(key, run(key));
    }
  }

  function wake(key: string): void {
    waiting.add(key);
    next();
  }

  return {
    wake,
    async drain() {
      isDraining = true;
      for (const timer of timers.values()) clearTimeout(timer);
      await Promise.allSettled(running.values());
    },
  };
}
