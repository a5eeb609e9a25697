import { BoundedMap } from './bounded-map.ts';

export interface RateLimit {
  /** How many at once. */
  readonly burst: number;
  readonly perSecond: number;
}

interface Bucket {
  left: number;
  atMs: number;
}

/**
 * Rate limiters (token buckets) by key, for keys that outsiders choose: no more than `capacity` are kept, and the one that was made longest
 * ago is forgotten first, which only gives it a full bucket again.
 */
export function createRateLimiter(rate: RateLimit, capacity: number) {
  const buckets = new BoundedMap<string, Bucket>(capacity);

  function filled(key: string, nowMs: number): Bucket {
    const bucket = buckets.get(key);
    if (!bucket) return { left: rate.burst, atMs: nowMs };
    // A clock that was ahead has gone back.
    bucket.atMs = Math.min(bucket.atMs, nowMs);
    const gained = ((nowMs - bucket.atMs) / 1000) * rate.perSecond;
    return { left: Math.min(rate.burst, bucket.left + gained), atMs: nowMs };
  }

  return {
    /** How many are left for that key; takes nothing. */
    left: (key: string, nowMs: number): number => Math.floor(filled(key, nowMs).left),
    /** @returns whether there were so many; else none is taken */
    take(key: string, nowMs: number, count = 1): boolean {
      const bucket = filled(key, nowMs);
      const isThere = bucket.left >= count;
      if (isThere) bucket.left -= count;
      buckets.set(key, bucket);
      return isThere;
    },
    size: () => buckets.size,
  };
}
