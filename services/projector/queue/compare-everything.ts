import { setTimeout as delay } from 'node:timers/promises';
import { inTurn } from '@rollcall/shared/bus';
import { toRollcallError } from '@rollcall/shared/errors';
import type { Logger } from '@rollcall/shared/service';

/** A try costs the bus a list of all that there is: one that has no time for it is not asked again at once. */
const retry = { firstMs: 1000, mostMs: 60_000 } as const;

export interface Comparison {
  /**
   * Has everything compared, however often that fails; who asks while it runs shares the next run, and while it waits has it tried now.
   * @returns resolves when all of it is marked, rejects when the signal is aborted
   */
  run(): Promise<void>;
  /** How often it has failed since it last succeeded. */
  failures(): number;
  /** What it failed at last, or undefined. */
  problem(): string | undefined;
}

/**
 * Nobody tells of what was changed in Kubernetes while nobody looked.
 * @param options.markAll - marks everything; resolves with how many objects that are
 */
export function createComparison(options: {
  markAll(): Promise<number>;
  logger: Logger;
  signal: AbortSignal;
  wait?: (ms: number) => Promise<void>;
}): Comparison {
  const { markAll, logger, signal } = options;
  const { wait = (ms) => delay(ms, undefined, { signal }) } = options;
  let failures = 0;
  let problem: string | undefined;
  let tryNow: (() => void) | undefined;

  async function untilMarked(): Promise<void> {
    for (;;) {
      signal.throwIfAborted();
      try {
        const count = await markAll();
        failures = 0;
        problem = undefined;
        return logger.info({ count }, 'comparing everything');
      } catch (thrown) {
        const err = toRollcallError(thrown);
        const delayMs = Math.min(retry.firstMs * 2 ** failures, retry.mostMs);
        failures++;
        problem = err.message;
        logger.warn({ err, delayMs }, 'what there is could not be listed, so not everything is compared');
        const { promise: asked, resolve } = Promise.withResolvers<void>();
        tryNow = resolve;
        await Promise.race([wait(delayMs), asked]);
      }
    }
  }
  const oneAtATime = inTurn(untilMarked);
  function run(): Promise<void> {
    tryNow?.();
    return oneAtATime();
  }
  return { run, failures: () => failures, problem: () => problem };
}
