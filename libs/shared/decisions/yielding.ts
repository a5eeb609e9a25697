export interface YieldingOptions {
  /** Whether somebody is there whom the work must leave the machine to. */
  mustYield(): boolean;
  /** How many are done at a time while it need not yield. */
  readonly atOnce: number;
  /** While it yields, one is done at a time, and so many begin a second ... */
  readonly perSecond: number;
  /** ... but for so many that are not held up: what is no mass is as fast as ever. */
  readonly burst: number;
  /** Of a clock that never goes back. */
  nowMs?(): number;
}

/** Whoever needed the machine may be gone long before the next turn. */
const lookAgainMs = 500;

/**
 * A rate limiter for work that may wait: it goes on as fast as it can while nobody else needs the machine, and slowly but for ever
 * while somebody does. What waits begins in the order in which it came.
 * @returns resolves, or rejects, as the work does
 */
export function yielding(options: YieldingOptions): <Result>(work: () => Promise<Result>) => Promise<Result> {
  const { mustYield, atOnce, perSecond, burst, nowMs = () => performance.now() } = options;
  const msEach = 1000 / perSecond;
  // The bucket as a point in time: how far ahead of the clock what has begun has spent it.
  let spentUntilMs = Number.NEGATIVE_INFINITY;
  let running = 0;
  let timer: NodeJS.Timeout | undefined;
  const waiting: (() => void)[] = [];

  /** @returns how long the next one has to wait; 0: it has begun; undefined: until another one has ended */
  function beginNext(begin: () => void): number | undefined {
    const yields = mustYield();
    if (running >= (yields ? 1 : atOnce)) return undefined;
    const now = nowMs();
    const spentWithThisMs = Math.max(spentUntilMs, now - burst * msEach) + msEach;
    if (yields && spentWithThisMs > now) return spentWithThisMs - now;
    // What was done while nobody needed the machine is no debt.
    spentUntilMs = Math.min(spentWithThisMs, now);
    running++;
    waiting.shift();
    begin();
    return 0;
  }

  function beginAll(): void {
    clearTimeout(timer);
    timer = undefined;
    for (let next = waiting[0]; next !== undefined; next = waiting[0]) {
      const waitMs = beginNext(next);
      if (waitMs === 0) continue;
      if (waitMs !== undefined) timer = setTimeout(beginAll, Math.min(waitMs, lookAgainMs));
      return;
    }
  }

  return async (work) => {
    await new Promise<void>((begin) => {
      waiting.push(begin);
      if (timer === undefined) beginAll();
    });
    try {
      return await work();
    } finally {
      running--;
      beginAll();
    }
  };
}
