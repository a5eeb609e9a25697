import { RollcallError } from '@rollcall/shared/errors';

/** How a pass over one object ended. */
export interface Pass {
  /** Whether everything is shown that has to be shown now; the events that led here may be acknowledged. */
  readonly isShown: boolean;
  /** When to look again, although nothing happens. */
  readonly againInMs?: number | undefined;
}

export interface DirtyObjectsOptions {
  /** Compares and writes one object. Level-based: it looks at the newest record. */
  pass(key: string): Promise<Pass>;
  /** Passes at the same time. */
  readonly concurrency: number;
  onSize(size: number): void;
  onError(key: string, error: unknown, retryInMs: number): void;
  /** @param failures - 1 after the first failure in a row */
  retryInMs(error: unknown, failures: number): number;
}

/** Objects whose picture may be old. A burst of marks becomes one pass; passes over one object never overlap. */
export interface DirtyObjects {
  /** Marks and forgets: a failing pass is tried again. `background` yields to what events mark. */
  mark(key: string, urgency?: 'urgent' | 'background'): void;
  /**
   * Marks, and resolves once a pass that began afterwards has shown the object.
   * @param withinMs - how long it may wait for something more to show (0)
   * @throws what the pass throws; it is tried again all the same
   */
  project(key: string, withinMs?: number): Promise<void>;
  /** Every object that failed is tried now: what it failed at may be back. */
  retryFailed(): void;
  /** Ends running passes, forgets the rest, and rejects whoever waits for it. */
  stop(): Promise<void>;
}

interface Entry {
  isRunning: boolean;
  isMarked: boolean;
  failures: number;
  timer: NodeJS.Timeout | undefined;
  /** When the timer fires, on the clock of `performance`. */
  dueAtMs: number;
  waiters: PromiseWithResolvers<void>[];
}

function stopping(key: string): RollcallError {
  return new RollcallError('DEADLINE_EXCEEDED', `the projector stops before it has shown "${key}"`);
}

/** setTimeout fires at once for longer delays. */
const longestTimerMs = 2 ** 31 - 1;

export function createDirtyObjects(options: DirtyObjectsOptions): DirtyObjects {
  const entries = new Map<string, Entry>();
  // Sets keep the order of insertion, and a key can be moved from one to the other.
  const queues = { urgent: new Set<string>(), background: new Set<string>() };
  const running = new Set<Promise<void>>();
  let isStopped = false;

  function enqueue(key: string, entry: Entry, urgency: keyof typeof queues): void {
    clearTimeout(entry.timer);
    entry.timer = undefined;
    entry.isMarked = true;
    if (entry.isRunning || isStopped || queues.urgent.has(key)) return;
    if (urgency === 'urgent') queues.background.delete(key);
    queues[urgency].add(key);
    startNext();
  }

  function later(key: string, entry: Entry, delayMs: number): void {
    clearTimeout(entry.timer);
    const urgency = entry.waiters.length > 0 ? 'urgent' : 'background';
    entry.dueAtMs = performance.now() + delayMs;
    entry.timer = setTimeout(() => enqueue(key, entry, urgency), Math.min(delayMs, longestTimerMs));
  }

  /** A pass that is to come anyway in that time is enough. */
  function enqueueWithin(key: string, entry: Entry, withinMs: number): void {
    if (withinMs === 0 || entry.isRunning) return enqueue(key, entry, 'urgent');
    const isQueued = queues.urgent.has(key) || queues.background.has(key);
    const isDue = entry.timer !== undefined && entry.dueAtMs <= performance.now() + withinMs;
    if (!isQueued && !isDue) later(key, entry, withinMs);
  }

  function takeNext(): string | undefined {
    const queue = queues.urgent.size > 0 ? queues.urgent : queues.background;
    const [key] = queue;
    if (key !== undefined) queue.delete(key);
    return key;
  }

  function startNext(): void {
    while (running.size < options.concurrency) {
      const key = takeNext();
      const entry = key === undefined ? undefined : entries.get(key);
      if (key === undefined || !entry) return;
      const work = run(key, entry).finally(() => {
        running.delete(work);
        startNext();
      });
      running.add(work);
    }
  }

  async function run(key: string, entry: Entry): Promise<void> {
    entry.isRunning = true;
    entry.isMarked = false;
    const waiters = entry.waiters.splice(0);
    let againInMs: number | undefined;
    try {
      const done = await options.pass(key);
      entry.failures = 0;
      againInMs = done.againInMs;
      if (done.isShown) for (const waiter of waiters) waiter.resolve();
      else entry.waiters.unshift(...waiters);
    } catch (error) {
      entry.failures++;
      againInMs = options.retryInMs(error, entry.failures);
      if (!isStopped) options.onError(key, error, againInMs);
      for (const waiter of waiters) waiter.reject(error);
    }
    entry.isRunning = false;
    // Whoever still waits is told by stop().
    if (isStopped) return;
    if (entry.isMarked) return enqueue(key, entry, 'urgent');
    if (againInMs !== undefined) {
      later(key, entry, againInMs);
      return;
    }
    entries.delete(key);
    options.onSize(entries.size);
  }

  function entryOf(key: string): Entry {
    let entry = entries.get(key);
    if (!entry) {
      entry = {
        isRunning: false,
        isMarked: false,
        failures: 0,
        timer: undefined,
        dueAtMs: 0,
        waiters: [],
      };
      entries.set(key, entry);
      options.onSize(entries.size);
    }
    return entry;
  }

  return {
    mark: (key, urgency = 'urgent') => {
      if (!isStopped) enqueue(key, entryOf(key), urgency);
    },
    project(key, withinMs = 0) {
      if (isStopped) return Promise.reject(stopping(key));
      const waiter = Promise.withResolvers<void>();
      const entry = entryOf(key);
      entry.waiters.push(waiter);
      enqueueWithin(key, entry, withinMs);
      return waiter.promise;
    },
    retryFailed() {
      for (const [key, entry] of entries) if (entry.failures > 0) enqueue(key, entry, 'background');
    },
    async stop() {
      isStopped = true;
      queues.urgent.clear();
      queues.background.clear();
      await Promise.allSettled(running);
      for (const [key, entry] of entries) {
        clearTimeout(entry.timer);
        for (const waiter of entry.waiters) waiter.reject(stopping(key));
      }
      entries.clear();
    },
  };
}
