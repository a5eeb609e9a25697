import { RollcallError } from '@rollcall/shared/errors';

/** Does work for whoever asked last. */
export type LatestOnly = <Result>(work: (signal: AbortSignal) => Promise<Result>) => Promise<Result>;

/**
 * One work at a time, and only the last question has somebody who waits: a new one ends the work before it, and begins when that has
 * ended; those in between are never begun.
 * @param ending - ends everything
 * @throws (the work) RollcallError USAGE where another question came, or all ends; else what the work throws
 */
export function latestOnly(ending: AbortSignal): LatestOnly {
  let newest = new AbortController();
  let running: Promise<unknown> = Promise.resolve();
  return async (work) => {
    newest.abort();
    newest = new AbortController();
    const signal = AbortSignal.any([ending, newest.signal]);
    const before = running;
    const own = (async () => {
      await before;
      signal.throwIfAborted();
      return work(signal);
    })();
    running = own.catch(() => undefined);
    try {
      return await own;
    } catch (thrown) {
      if (!signal.aborted) throw thrown;
      throw new RollcallError('USAGE', 'another one was asked for meanwhile, or the console ends', {
        cause: thrown,
      });
    }
  };
}
