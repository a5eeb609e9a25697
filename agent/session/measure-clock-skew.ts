import type { Facts } from '@rollcall/shared/bus';

/** Nothing that Rollcall does suffers from less. */
const reportedFromMs = 5000;

/**
 * How far our clock is certainly ahead of the hub's; negative where it is behind. The hub said its time between our ask and
 * now: within that nothing is known, so that a slow answer does not pass for a wrong clock.
 */
export function clockAhead(times: { signedAtMs: number; atHubMs: number; nowMs: number }): number {
  const { signedAtMs, atHubMs, nowMs } = times;
  if (atHubMs < signedAtMs) return signedAtMs - atHubMs;
  return atHubMs > nowMs ? nowMs - atHubMs : 0;
}

/** What the hub is told of it: whole steps of 5 s, so that it is not told anew with every reply, and nothing of less. */
export function clockFact(aheadMs: number): Pick<Facts, 'clockAheadSeconds'> {
  const steps = Math.trunc(aheadMs / reportedFromMs);
  return steps === 0 ? {} : { clockAheadSeconds: (steps * reportedFromMs) / 1000 };
}
