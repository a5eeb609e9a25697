import { setTimeout as delay } from 'node:timers/promises';
import { type RollcallError, toRollcallError } from '@rollcall/shared/errors';
import type { Logger } from '@rollcall/shared/service';
import { fullJitterMs } from '../hub/back-off.ts';

/** Takes away what installed this agent. Each step may be done twice: one that fails, or a crash in between, is followed by another try. */
export interface Uninstall {
  /** What the steps remove, for people who have to do it instead. */
  readonly what: string;
  /** All that the agent can do without; the hub is told afterwards. */
  beforeGoodbye(): Promise<void>;
  /** The rest, its keys and its own rights among it: after that there is no agent. */
  afterGoodbye(): Promise<void>;
}
type Step = 'beforeGoodbye' | 'afterGoodbye';

/** An API server that starts is away, or refuses everybody, for some seconds. */
const backOff = { firstMs: 1000, longestMs: 10_000 };
/** The hub waits for the goodbye that comes after the first step for 30 s. */
const triedForMs = { beforeGoodbye: 20_000, afterGoodbye: 120_000 } as const;

/**
 * When a step that failed is tried again.
 * @param so.failures - how many in a row
 * @param so.triedMs - since the first try
 * @returns undefined: no more
 */
export function againInMs(
  error: Pick<RollcallError, 'retry'>,
  so: { step: Step; failures: number; triedMs: number; random: number },
): number | undefined {
  const delayMs = fullJitterMs(backOff, so.failures, so.random);
  return error.retry && so.triedMs + delayMs <= triedForMs[so.step] ? delayMs : undefined;
}

/**
 * Does one step of a removal, and again while that can help. What stays when its time is over is told, and no reason to stay
 * oneself: the hub lets nobody in any more.
 * @param options.signal - ends the waiting
 */
export async function remove(
  uninstall: Uninstall,
  step: Step,
  { logger, signal }: { logger: Logger; signal: AbortSignal },
): Promise<void> {
  const fromMs = performance.now();
  for (let failures = 1; ; failures++) {
    try {
      return await uninstall[step]();
    } catch (thrown) {
      const err = toRollcallError(thrown);
      const triedMs = performance.now() - fromMs;
      const delayMs = againInMs(err, { step, failures, triedMs, random: Math.random() });
      const fields = { err, object: uninstall.what };
      if (signal.aborted || delayMs === undefined)
        return logger.error(fields, 'not everything could be removed; delete what is left of it');
      logger.warn({ ...fields, delayMs }, 'it could not be removed yet');
      await delay(delayMs, undefined, { signal }).catch(() => undefined);
    }
  }
}
