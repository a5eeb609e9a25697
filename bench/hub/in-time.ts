import { setTimeout as delay } from 'node:timers/promises';
import { RollcallError } from '@rollcall/shared/errors';

/**
 * @param withinMs - only a failure ever takes that long
 * @throws RollcallError DEADLINE_EXCEEDED with what did not come about
 */
export async function inTime<Value>(
  what: string,
  happens: Promise<Value>,
  withinMs = 60_000,
): Promise<Value> {
  const ending = new AbortController();
  const late = delay(withinMs, undefined, { signal: ending.signal }).then((): never => {
    throw new RollcallError('DEADLINE_EXCEEDED', `not in time: ${what}`);
  });
  late.catch(() => undefined);
  try {
    return await Promise.race([happens, late]);
  } finally {
    ending.abort();
  }
}
