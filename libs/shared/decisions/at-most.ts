/**
 * Does so many pieces of work at a time; the others wait, in the order in which they came.
 * @returns resolves, or rejects, as the work does
 */
export function atMost(limit: number): <Result>(work: () => Promise<Result>) => Promise<Result> {
  let running = 0;
  const waiting: (() => void)[] = [];
  return async (work) => {
    if (running >= limit) await new Promise<void>((resolve) => waiting.push(resolve));
    else running++;
    try {
      return await work();
    } finally {
      // Whoever waits takes over the place, so that nobody comes in between.
      const next = waiting.shift();
      if (next) next();
      else running--;
    }
  };
}
