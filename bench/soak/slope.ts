import { quantile } from '../../cli/simulate/report/quantile.ts';

/** A value of one life of a process. */
export interface Point {
  readonly atMs: number;
  readonly life: number;
  readonly value: number;
}

const hourMs = 3_600_000;
/** A process that has just started grows into its work: until then it is only compared with others of its age. */
export const grownUpAfterMs = 8 * 60_000;
const sameAgeMs = 45_000;

/**
 * The median of the slopes between any two points that can be compared: of one life once it is grown up, or of two lives at the same
 * age. One point that is far off does not move it.
 * @returns per hour, as a share of the median value; NaN where nothing can be compared
 */
export function slopePerHour(points: readonly Point[]): number {
  const bornMs = new Map<number, number>();
  for (const { life, atMs } of points) bornMs.set(life, Math.min(atMs, bornMs.get(life) ?? Infinity));
  const ageOf = ({ life, atMs }: Point) => atMs - (bornMs.get(life) ?? 0);
  const slopes: number[] = [];
  for (const [at, one] of points.entries())
    for (const other of points.slice(at + 1)) {
      const isComparable =
        one.life === other.life
          ? Math.min(ageOf(one), ageOf(other)) >= grownUpAfterMs
          : Math.abs(ageOf(one) - ageOf(other)) <= sameAgeMs;
      if (isComparable && other.atMs !== one.atMs)
        slopes.push((other.value - one.value) / (other.atMs - one.atMs));
    }
  const median = quantile(
    points.map(({ value }) => value),
    0.5,
  );
  return (quantile(slopes, 0.5) * hourMs) / median;
}

/** Medians of the middle third and of the last; NaN where nothing was measured in it. */
export function lastThirds(
  values: readonly { readonly atMs: number; readonly value: number }[],
  lastsMs: number,
): { readonly before: number; readonly after: number } {
  const between = (from: number, to: number) =>
    quantile(
      values.filter(({ atMs }) => atMs >= from * lastsMs && atMs <= to * lastsMs).map(({ value }) => value),
      0.5,
    );
  return { before: between(1 / 3, 2 / 3), after: between(2 / 3, 1) };
}
