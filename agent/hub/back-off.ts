/** How long a failure lets us wait: from the first wait to the longest. */
export interface BackOff {
  readonly firstMs: number;
  readonly longestMs: number;
}

/**
 * Full jitter: anywhere between nothing and a bound that doubles, so that a fleet that lost its hub together does not come back
 * together.
 * @param failures - how many in a row, 1 for the first
 * @param random - 0 to 1
 */
export function fullJitterMs({ firstMs, longestMs }: BackOff, failures: number, random: number): number {
  const boundMs = Math.min(longestMs, firstMs * 2 ** Math.min(failures - 1, 30));
  return Math.round(boundMs * random);
}

/** Around a time that the hub set: `share` earlier or later, so that agents that were told the same spread out. */
export function spreadMs(aboutMs: number, share: number, random: number): number {
  return Math.round(aboutMs * (1 - share + 2 * share * random));
}

/**
 * How long to leave the hub alone after it let nobody in: minutes, because only people change that; but seconds at first, because
 * a token may be a moment older than what the hub has read of it.
 * @param refusals - how many in a row, 1 for the first
 */
export function refusedDelayMs(longestMs: number, refusals: number, random: number): number {
  return spreadMs(Math.min(longestMs, 2000 * 4 ** Math.min(refusals - 1, 10)), 0.2, random);
}
