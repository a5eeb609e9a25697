import { RollcallError } from '@rollcall/shared/errors';
import { type Priority, priorities, lowerPriority, higherPriority } from './priority.ts';

/** How a pass over one object ended. */
export interface Pass {
  /** Whether everything is shown that has to be shown now; the events that led here may be acknowledged. */
  readonly isShown: boolean;
  /** When to look again, although nothing happens. */
  readonly againInMs?: number | undefined;
}

export interface WorkQueueOptions {
  /** Compares and writes one object. Level-based: it looks at the newest record. */
  pass(key: string): Promise<Pass>;
  /** Begins passes over who leaves when their turn comes. */
  departureInTurn(pass: () => Promise<Pass>): Promise<Pass>;
  /** Passes at the same time. */
  readonly concurrency: number;
  onSize(size: number): void;
  onError(key: string, error: unknown, retryInMs: number): void;
  /** @param failures - 1 after the first failure in a row */
  retryInMs(error: unknown, failures: number): number;
}

/** Objects whose projection may be old. A burst of marks becomes one pass; passes over one object never overlap. */
export interface WorkQueue {
  /**
   * Marks and forgets: a failing pass is tried again. Default: a transition.
   * @param event - as for `project`
   */
  mark(key: string, priority?: Priority, event?: { withinMs?: number; atMs?: number }): void;
  /**
   * Marks as a transition, and resolves once a pass that began afterwards has shown the object.
   * @param event.withinMs - how long it may wait for something more to show (0)
   * @param event.atMs - when it happened, in hub time: how far the projection is behind (`oldestMs`)
   * @throws what the pass throws; it is tried again all the same
   */
  project(key: string, event?: { withinMs?: number; atMs?: number }): Promise<void>;
  /** When the oldest event happened that no pass has shown yet; undefined: everything is shown. */
  oldestMs(): number | undefined;
  /** Every object that failed is tried now: what it failed at may be back. */
  retryFailed(): void;
  /** Ends running passes, forgets the rest, and rejects whoever waits for it. */
  stop(): Promise<void>;
}

interface Entry {
  isRunning: boolean;
  /** What it was marked as since the last pass began. */
  marked: Priority | undefined;
  /** Of the last pass. */
  priority: Priority;
  failures: number;
  /** When the oldest event happened that waits for a pass, and that a running pass shows. */
  sinceMs: number;
  runningSinceMs: number;
  timer: NodeJS.Timeout | undefined;
  /** When the timer fires, on the clock of `performance`, and as what: what comes meanwhile may make it more urgent. */
  dueAtMs: number;
  dueAs: Priority;
  waiters: PromiseWithResolvers<void>[];
}

function stopping(key: string): RollcallError {
  return new RollcallError('DEADLINE_EXCEEDED', `the projector stops before it has shown "${key}"`);
}

/** setTimeout fires at once for longer delays. */
const longestTimerMs = 2 ** 31 - 1;

export function createWorkQueue(options: WorkQueueOptions): WorkQueue {
  const entries = new Map<string, Entry>();
  // Sets keep the order of insertion, and a key can be moved from one to the other.
  const queues: Record<Priority, Set<string>> = {
    transition: new Set(),
    departure: new Set(),
    fact: new Set(),
    count: new Set(),
  };
  const running = new Set<Promise<void>>();
  const share = (quarters: number) => Math.max(1, Math.floor((options.concurrency * quarters) / 4));
  // A transition never waits for a slot because everybody else waits for write budget; and of ten thousand clusters that leave no
  // more are shown at a time than leaves the API server to the others.
  const mostDepartures = share(1);
  const mostOthers = share(3);
  const passes: Record<Priority, number> = { transition: 0, departure: 0, fact: 0, count: 0 };
  let isStopped = false;

  function enqueue(key: string, entry: Entry, priority: Priority): void {
    clearTimeout(entry.timer);
    entry.timer = undefined;
    const before = entry.marked;
    entry.marked = before === undefined ? priority : higherPriority(before, priority);
    if (entry.isRunning || isStopped || entry.marked === before) return;
    if (before !== undefined) queues[before].delete(key);
    queues[entry.marked].add(key);
    startNext();
  }

  /** @param marked - what it was marked as; without it, it is what a pass left for later: a detail, unless somebody waits for it */
  function later(key: string, entry: Entry, delayMs: number, marked?: Priority): void {
    clearTimeout(entry.timer);
    const rest = entry.failures > 0 ? entry.priority : lowerPriority(entry.priority, 'fact');
    entry.dueAs = entry.waiters.length > 0 ? 'transition' : (marked ?? rest);
    entry.dueAtMs = performance.now() + delayMs;
    entry.timer = setTimeout(() => enqueue(key, entry, entry.dueAs), Math.min(delayMs, longestTimerMs));
  }

  /** A pass that is to come anyway in that time is enough. */
  function enqueueWithin(
    key: string,
    entry: Entry,
    { withinMs, priority }: { withinMs: number; priority: Priority },
  ): void {
    if (withinMs === 0 || entry.isRunning) return enqueue(key, entry, priority);
    if (entry.marked !== undefined) return enqueue(key, entry, priority);
    const isDue = entry.timer !== undefined && entry.dueAtMs <= performance.now() + withinMs;
    if (isDue) entry.dueAs = higherPriority(entry.dueAs, priority);
    else later(key, entry, withinMs, priority);
  }

  function takeNext(): { key: string; priority: Priority } | undefined {
    const others = passes.departure + passes.fact + passes.count;
    for (const priority of priorities) {
      if (priority !== 'transition' && others >= mostOthers) return undefined;
      if (priority === 'departure' && passes.departure >= mostDepartures) continue;
      const [key] = queues[priority];
      if (key === undefined) continue;
      queues[priority].delete(key);
      return { key, priority };
    }
    return undefined;
  }

  function startNext(): void {
    while (running.size < options.concurrency) {
      const next = takeNext();
      const entry = next && entries.get(next.key);
      if (!next || !entry) return;
      const { priority } = next;
      passes[priority]++;
      entry.priority = priority;
      const work = run(next.key, entry).finally(() => {
        running.delete(work);
        passes[priority]--;
        startNext();
      });
      running.add(work);
    }
  }

  function isUnshown(entry: Entry): void {
    entry.sinceMs = Math.min(entry.sinceMs, entry.runningSinceMs);
  }

  async function run(key: string, entry: Entry): Promise<void> {
    entry.isRunning = true;
    const waiters: Entry['waiters'] = [];
    let againInMs: number | undefined;
    /** What it was marked for while it waited for its turn is shown as well. */
    function pass(): Promise<Pass> {
      entry.marked = undefined;
      entry.runningSinceMs = entry.sinceMs;
      entry.sinceMs = Infinity;
      waiters.push(...entry.waiters.splice(0));
      return options.pass(key);
    }
    try {
      const done = await (entry.priority === 'departure' ? options.departureInTurn(pass) : pass());
      entry.failures = 0;
      againInMs = done.againInMs;
      if (done.isShown) for (const waiter of waiters) waiter.resolve();
      else {
        entry.waiters.unshift(...waiters);
        isUnshown(entry);
      }
    } catch (error) {
      entry.failures++;
      isUnshown(entry);
      againInMs = options.retryInMs(error, entry.failures);
      if (!isStopped) options.onError(key, error, againInMs);
      for (const waiter of waiters) waiter.reject(error);
    }
    entry.isRunning = false;
    entry.runningSinceMs = Infinity;
    // Whoever still waits is told by stop().
    if (isStopped) return;
    const { marked } = entry;
    if (marked !== undefined) {
      entry.marked = undefined;
      return enqueue(key, entry, marked);
    }
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
        marked: undefined,
        priority: 'count',
        failures: 0,
        sinceMs: Infinity,
        runningSinceMs: Infinity,
        timer: undefined,
        dueAtMs: 0,
        dueAs: 'count',
        waiters: [],
      };
      entries.set(key, entry);
      options.onSize(entries.size);
    }
    return entry;
  }

  return {
    mark(key, priority = 'transition', { withinMs = 0, atMs = Infinity } = {}) {
      if (isStopped) return;
      const entry = entryOf(key);
      entry.sinceMs = Math.min(entry.sinceMs, atMs);
      enqueueWithin(key, entry, { withinMs, priority });
    },
    project(key, { withinMs = 0, atMs = Infinity } = {}) {
      if (isStopped) return Promise.reject(stopping(key));
      const waiter = Promise.withResolvers<void>();
      const entry = entryOf(key);
      entry.sinceMs = Math.min(entry.sinceMs, atMs);
      entry.waiters.push(waiter);
      enqueueWithin(key, entry, { withinMs, priority: 'transition' });
      return waiter.promise;
    },
    oldestMs() {
      let oldestMs = Infinity;
      for (const { sinceMs, runningSinceMs } of entries.values())
        oldestMs = Math.min(oldestMs, sinceMs, runningSinceMs);
      return oldestMs === Infinity ? undefined : oldestMs;
    },
    retryFailed() {
      for (const [key, entry] of entries) if (entry.failures > 0) enqueue(key, entry, entry.priority);
    },
    async stop() {
      isStopped = true;
      for (const queue of Object.values(queues)) queue.clear();
      await Promise.allSettled(running);
      for (const [key, entry] of entries) {
        clearTimeout(entry.timer);
        for (const waiter of entry.waiters) waiter.reject(stopping(key));
      }
      entries.clear();
    },
  };
}
