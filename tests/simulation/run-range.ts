import { type FaultKind, faultKinds } from './faults.ts';
import { runSeed, type SeedResult } from './run-seed.ts';

export interface Range {
  readonly first: number;
  readonly count: number;
}

/** What a range of seeds came to; sums of several can be added. */
export interface Tally {
  seeds: number;
  events: number;
  tasks: number;
  conflicts: number;
  /** Processor time, with everything that the process did beside it, in s. */
  coreSeconds: number;
  /** How often each kind of fault has struck. */
  faults: Partial<Record<FaultKind, number>>;
}

export const noTally = (): Tally => ({
  seeds: 0,
  events: 0,
  tasks: 0,
  conflicts: 0,
  coreSeconds: 0,
  faults: {},
});

export function addTally(sum: Tally, more: Tally): void {
  for (const name of ['seeds', 'events', 'tasks', 'conflicts', 'coreSeconds'] as const)
    sum[name] += more[name];
  for (const kind of faultKinds) sum.faults[kind] = (sum.faults[kind] ?? 0) + (more.faults[kind] ?? 0);
}

/**
 * Lives through one seed after another, in this process, until one breaks.
 * @param progress - called now and then with what was added since
 * @returns the seed that broke
 */
export async function runRange(
  { first, count }: Range,
  progress: (more: Tally) => void,
): Promise<(SeedResult & { seed: number }) | undefined> {
  const everySeeds = 200;
  const counts = new Map<FaultKind, number>();
  let more = noTally();
  let usage = process.cpuUsage();
  const report = () => {
    const { user, system } = process.cpuUsage(usage);
    usage = process.cpuUsage();
    more.coreSeconds = (user + system) / 1e6;
    more.faults = Object.fromEntries(counts);
    counts.clear();
    progress(more);
    more = noTally();
  };
  // The first report takes along what it took to start.
  usage = { user: 0, system: 0 };
  for (let seed = first; seed < first + count; seed++) {
    const result = await runSeed(seed, { counts, print: false });
    more.seeds++;
    more.events += result.events;
    more.tasks += result.tasks;
    more.conflicts += result.conflicts;
    if (result.violation) {
      report();
      return { ...result, seed };
    }
    if (more.seeds === everySeeds) report();
  }
  report();
  return undefined;
}
