import { parseDurationMs } from '@rollcall/shared/config/duration';
import { RollcallError } from '@rollcall/shared/errors';

/**
 * Reads `--since`, or another flag: a duration back from now, or a point in time.
 * @throws RollcallError USAGE
 */
export function sinceMs(text: string, nowMs: number, flag = '--since'): number {
  const backMs = parseDurationMs(text);
  // What else `Date.parse` takes is a guess: "40" is a year to it, and "last week 3" a month.
  const isTime = /^\d{4}-\d{2}-\d{2}(T.+)?$/.test(text);
  const atMs = backMs === undefined ? (isTime ? Date.parse(text) : Number.NaN) : nowMs - backMs;
  if (!Number.isNaN(atMs)) return atMs;
  throw new RollcallError(
    'USAGE',
    `${flag} "${text}" is neither a duration (1h, 30m) nor a time (2026-11-21T04:00:00Z)`,
  );
}
