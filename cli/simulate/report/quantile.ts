/**
 * The value that the share `q` of the values does not exceed (nearest rank: always one of the values).
 * @returns NaN for no values
 */
export function quantile(values: readonly number[], q: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(q * sorted.length) - 1)] ?? Number.NaN;
}

export interface Spread {
  readonly least: number;
  readonly p50: number;
  readonly p99: number;
}

export function spreadOf(values: readonly number[]): Spread {
  return { least: quantile(values, 0), p50: quantile(values, 0.5), p99: quantile(values, 0.99) };
}
