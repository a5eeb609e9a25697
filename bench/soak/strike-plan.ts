/** Who is killed when; from the beginning. */
export interface PlannedStrike {
  readonly atMs: number;
  readonly target: string;
}

/** A run that is shorter than one round has a round all the same. */
const shortRoundShare = 0.8;

/** Each target once in every round, one after the other, so that none falls on another. */
export function planStrikes(
  targets: readonly string[],
  { lastsMs, everyMs }: { lastsMs: number; everyMs: number },
): PlannedStrike[] {
  const roundMs = Math.min(everyMs, lastsMs * shortRoundShare);
  const rounds = Math.floor(lastsMs / roundMs);
  return Array.from({ length: rounds }, (_, round) =>
    targets.map((target, at) => ({ atMs: (round + (at + 0.5) / targets.length) * roundMs, target })),
  ).flat();
}
