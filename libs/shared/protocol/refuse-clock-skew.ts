import type { ErrorCode } from '@rollcall/shared/errors';

/** Agents sign with the hub's time once they have heard it; before that, clocks of machines are minutes off at most. */
export const longestSkewMs = 300_000;

/**
 * Whether a request was signed at another time than now: it is old, or the agent's clock is wrong. The reply carries the hub's
 * time, so an honest agent asks rightly the next time (ADR 6).
 * @param signedAtMs - as signed
 * @param nowMs - hub time; exactly 5 minutes off is still taken
 */
export function refuseStaleRequest(
  signedAtMs: number,
  nowMs: number,
): { code: ErrorCode; message: string } | undefined {
  const offMs = signedAtMs - nowMs;
  if (Math.abs(offMs) <= longestSkewMs) return undefined;
  const seconds = Math.min(Math.round(Math.abs(offMs) / 1000), 1e12);
  return {
    code: 'CLOCK_SKEW',
    message: `the request was signed ${seconds} s ${offMs < 0 ? 'before' : 'after'} the time of the hub`,
  };
}
