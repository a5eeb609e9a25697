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
