/** Many times without keeping each: quantiles that are right to two in a hundred. */
export interface Times {
  add(ms: number): void;
  count(): number;
  meanMs(): number;
  /** @returns NaN while there is none */
  quantileMs(share: number): number;
  mostMs(): number;
}

const leastMs = 0.01;
const growth = 1.02;
const perLog = 1 / Math.log(growth);

export function createTimes(): Times {
  const buckets: number[] = [];
  let [count, sum, most] = [0, 0, 0];
  return {
    add(ms) {
      const bucket = ms <= leastMs ? 0 : 1 + Math.floor(Math.log(ms / leastMs) * perLog);
      buckets[bucket] = (buckets[bucket] ?? 0) + 1;
      count++;
      sum += ms;
      most = Math.max(most, ms);
    },
    count: () => count,
    meanMs: () => sum / count,
    mostMs: () => most,
    quantileMs(share) {
      let left = Math.max(1, Math.ceil(share * count));
      if (count === 0) return Number.NaN;
      for (let bucket = 0; bucket < buckets.length; bucket++) {
        left -= buckets[bucket] ?? 0;
        if (left <= 0) return bucket === 0 ? 0 : Math.min(most, leastMs * growth ** (bucket - 0.5));
      }
      return most;
    },
  };
}
