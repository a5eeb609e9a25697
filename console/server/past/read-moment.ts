import { RollcallError } from '@rollcall/shared/errors';

/**
 * Reads `at=` of a URL: a moment that has been.
 * @returns undefined where none is asked for: now
 * @throws RollcallError USAGE
 */
export function readMoment(text: string | undefined, nowMs: number): number | undefined {
  if (text === undefined) return undefined;
  const isTime = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?Z$/.test(text);
  const atMs = isTime ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(atMs))
    throw new RollcallError('USAGE', `at "${text.slice(0, 40)}" is no time like 2026-11-21T04:00:00Z`);
  if (atMs > nowMs) throw new RollcallError('USAGE', `at "${text}" is still to come`);
  return atMs;
}
