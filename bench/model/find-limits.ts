import { type Limit, limitsOfScenario, limitsOfSize } from './limits.ts';
import type { Numbers } from './numbers/numbers.ts';
import { runScenario } from './run-scenario.ts';
import { type ScenarioName, scenarioNames } from './scenarios.ts';

/** Where a growing fleet finds its hub too small. */
export interface BreakingPoint extends Omit<Limit, 'usedShare'> {
  /** The smallest fleet, to one in ten, that is too large. */
  readonly clusters: number;
}

export interface SearchOptions {
  readonly numbers: Numbers;
  readonly seed: number;
  readonly from: number;
  readonly to: number;
  readonly followed: number;
}

const precision = 1.1;
/** Beyond these a hub is built anew, and what is overloaded takes long to simulate. */
const enough = 6;
const nameOf = ({ place, scenario }: Pick<Limit, 'place' | 'scenario'>) => `${place}, ${scenario ?? ''}`;

/**
 * Doubles the fleet until several things have broken, and looks more closely where each did.
 * @returns the first to break first; what does not break up to `to` is not in it
 */
export function findLimits(options: SearchOptions): BreakingPoint[] {
  const { numbers, seed, followed, from, to } = options;
  const run = (scenario: ScenarioName, clusters: number) =>
    limitsOfScenario(runScenario(scenario, { numbers, clusters, seed, followed }), numbers);
  const all = (clusters: number): Limit[] => [
    ...limitsOfSize(clusters, numbers),
    ...scenarioNames.flatMap((scenario) => run(scenario, clusters)),
  ];
  const again = ({ place, scenario }: Limit, clusters: number): boolean => {
    const limits = scenario === undefined ? limitsOfSize(clusters, numbers) : run(scenario, clusters);
    return limits.some((limit) => limit.place === place && limit.usedShare > 1);
  };

  const broken = new Map<string, BreakingPoint>();
  for (let clusters = from; clusters <= to && broken.size < enough; clusters *= 2) {
    for (const limit of all(clusters)) {
      if (limit.usedShare <= 1 || broken.has(nameOf(limit))) continue;
      const { place, scenario } = limit;
      broken.set(nameOf(limit), { place, scenario, clusters: closer(limit, clusters / 2, clusters) });
    }
  }
  return [...broken.values()].toSorted((one, other) => one.clusters - other.clusters);

  /** @param whole - is well; of what breaks before `from`, half of that counts as well */
  function closer(limit: Limit, whole: number, tooMany: number): number {
    let [low, high] = [whole, tooMany];
    while (high / low > precision) {
      const between = Math.sqrt(low * high);
      if (again(limit, between)) high = between;
      else low = between;
    }
    return high;
  }
}
