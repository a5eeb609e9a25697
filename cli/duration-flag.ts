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
