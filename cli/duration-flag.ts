import { parseDurationMs } from '@rollcall/shared/config';
import { RollcallError } from '@rollcall/shared/errors';

/**
 * Reads `30s`, `5m`, `1h30m`.
 * @returns milliseconds
 * @throws RollcallError USAGE
 */
export function durationFlagMs(flag: string, text: string): number {
  const durationMs = parseDurationMs(text);
  if (durationMs !== undefined) return durationMs;
  throw new RollcallError('USAGE', `${flag} "${text}" is no duration; write for example 30s, 24h or 1h30m`);
}

/** setTimeout fires at once for longer delays. */
const longestTimerMs = 2 ** 31 - 1;

/**
 * Reads `--timeout`: how long a command waits, 24 days at most.
 * @returns milliseconds that a timer takes
 * @throws RollcallError USAGE
 */
export function timeoutFlagMs(text: string): number {
  return Math.min(durationFlagMs('--timeout', text), longestTimerMs);
}
