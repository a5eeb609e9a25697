import { shape } from './numbers/assumptions.ts';
import { findLimits } from './find-limits.ts';
import type { ModelFlags } from './model-flags.ts';
import { numbersOf } from './numbers/numbers.ts';
import { runScenario } from './run-scenario.ts';
import { sizesOf } from './sizes.ts';

/** From fleets that nothing can be too much for to ones that nobody has. */
const searched = { from: 40_000, to: 5_120_000, followed: 2000 };

/** Every scenario that was asked for, and where a growing fleet breaks first. */
export function runModel({ hub, changed, clusters, seed, followed, only, withLimits }: ModelFlags) {
  const numbers = numbersOf(hub, changed);
  return {
    hub,
    clusters,
    seed,
    changed,
    numbers,
    shape,
    sizes: sizesOf(clusters, numbers),
    scenarios: only.map((scenario) => runScenario(scenario, { numbers, clusters, seed, followed })),
    ...(withLimits ? { breaks: findLimits({ numbers, seed, ...searched }) } : {}),
  };
}

export type ModelResult = ReturnType<typeof runModel>;
