/**
 * Runs `work` once at a time. Who calls while it runs shares the next run with all who wait: one that runs already may have
 * looked too early.
 */
export function inTurn<Result>(work: () => Promise<Result>): () => Promise<Result> {
  let running: Promise<Result> | undefined;
  let next: Promise<Result> | undefined;

  function start(): Promise<Result> {
    const mine = work().finally(() => {
      if (running === mine) running = undefined;
    });
    running = mine;
    return mine;
  }

  return () => {
    if (!running && !next) return start();
    next ??= (running ?? Promise.resolve())
      .then(
        () => undefined,
        () => undefined,
      )
      .then(() => {
        next = undefined;
        return start();
      });
    return next;
  };
}
