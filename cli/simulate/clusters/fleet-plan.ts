import type { Random } from '../random.ts';
import type { Scenario, Step } from '../scenario.ts';

/**
 * What is done to one cluster at one time.
 * - `cut`: its connection breaks. `mute`: it stands, and nothing gets through. `goodbye`: the agent stops and says so.
 * - `back`: after any of these. `register`: a cluster that was not there. `leave`: for good.
 */
export interface Action {
  /** From the beginning of the scenario. */
  readonly atMs: number;
  readonly verb: 'cut' | 'mute' | 'goodbye' | 'back' | 'register' | 'leave';
  readonly cluster: number;
}

export interface FleetPlan {
  /** Clusters by number: first those that are there from the beginning, then those that come later. */
  readonly total: number;
  readonly atFirst: number;
  readonly groups: readonly string[];
  /** Of those that come later, who has an agent of its own. */
  readonly withAgent: ReadonlySet<number>;
  /** Index into `groups`, by cluster. */
  readonly groupOf: readonly number[];
  /** In the order in which they happen. */
  readonly actions: readonly Action[];
}

/** Agents wait up to that long before they connect again, and less after a short outage (agent/hub/back-off.ts). */
const longestBackOffMs = 30_000;

/** Whole clusters by shares; what rounding leaves over goes to the last group. */
function allot(count: number, shares: readonly number[]): number[] {
  const ends = shares.map((_, index) =>
    Math.round(count * shares.slice(0, index + 1).reduce((sum, share) => sum + share, 0)),
  );
  return ends.flatMap((end, index) => Array.from({ length: end - (ends[index - 1] ?? 0) }, () => index));
}

/** @returns the items in an order that the seed alone decides */
function shuffled<Item>(items: readonly Item[], random: Random): Item[] {
  const all = [...items];
  for (let at = all.length - 1; at > 0; at--) {
    const other = random.int(0, at);
    [all[at], all[other]] = [all[other] as Item, all[at] as Item];
  }
  return all;
}

/** What a scenario does to a fleet of that size, cluster by cluster. The same seed gives the same plan. */
export function planFleet(scenario: Scenario, clusters: number, random: Random): FleetPlan {
  const groups = Object.keys(scenario.groups);
  const groupOf = allot(clusters, Object.values(scenario.groups));
  const actions: Action[] = [];
  const withAgent = new Set<number>();
  const members = (group: string | undefined) =>
    groupOf
      .slice(0, clusters)
      .flatMap((of, cluster) => (group === undefined || groups[of] === group ? [cluster] : []));

  function add(atMs: number, verb: Action['verb'], cluster: number): void {
    actions.push({ atMs: Math.round(atMs), verb, cluster });
  }
  function addNew(atMs: number, like: number): number {
    groupOf.push(groupOf[like] ?? 0);
    add(atMs, 'register', groupOf.length - 1);
    return groupOf.length - 1;
  }
  function returnAfter(awayMs: number): number {
    return random.next() * Math.min(longestBackOffMs, awayMs);
  }

  function expand(step: Step): void {
    const inGroup = members(step.group);
    const chosen = shuffled(inGroup, random).slice(0, Math.round(inGroup.length * step.share));
    for (const [index, cluster] of chosen.entries()) {
      const turnMs = 'over' in step ? (step.over * index) / chosen.length : 0;
      const beginMs = step.at + turnMs;
      switch (step.do) {
        case 'outage':
          add(beginMs, 'cut', cluster);
          add(beginMs + step.for + returnAfter(step.for), 'back', cluster);
          break;
        case 'silence':
          add(beginMs, 'mute', cluster);
          add(beginMs + step.for, 'back', cluster);
          break;
        case 'restart':
          add(beginMs, 'goodbye', cluster);
          add(beginMs + step.for, 'back', cluster);
          break;
        case 'flap': {
          // Each at a time of its own: a fleet that flaps in step would be an outage.
          const offsetMs = random.next() * step.every;
          for (let time = 0; time < step.times; time++) {
            add(beginMs + offsetMs + time * step.every, 'mute', cluster);
            add(beginMs + offsetMs + time * step.every + step.for, 'back', cluster);
          }
          break;
        }
        case 'grow': {
          const added = addNew(beginMs, cluster);
          if (step.agents === 'own') withAgent.add(added);
          break;
        }
        case 'leave':
          add(beginMs, 'leave', cluster);
          break;
        case 'churn':
          add(beginMs, 'leave', cluster);
          addNew(beginMs, cluster);
      }
    }
  }

  for (const step of scenario.steps) expand(step);
  const inTime = actions.filter(({ atMs }) => atMs <= scenario.end);
  return {
    total: groupOf.length,
    atFirst: clusters,
    withAgent,
    groups,
    groupOf,
    actions: inTime.toSorted((a, b) => a.atMs - b.atMs),
  };
}
