import type { Action, FleetPlan } from '../../cli/simulate/clusters/fleet-plan.ts';
import type { Random } from '../../cli/simulate/random.ts';
import { isReal } from '../../cli/simulate/simulation-settings.ts';

export interface LifeSettings {
  readonly clusters: number;
  /** Of these, how many have agents of their own. */
  readonly real: number;
  readonly lastsMs: number;
  /** Share of the fleet that dies in a minute. */
  readonly deaths: number;
  /** Share of the fleet that leaves in a minute, and as many that come. */
  readonly changes: number;
  /** Whoever dies is away for a part of it, up to three times as long. */
  readonly graceMs: number;
}

export interface LifePlan {
  readonly fleet: FleetPlan;
  /** Agents of their own to whom nothing is done: people decide about these. */
  readonly steady: readonly number[];
}

const minuteMs = 60_000;
const steadyShare = 0.1;
/** Of those that die; as many as come back have another in their place. */
const replacedShare = 0.25;
const awayGraces = { least: 0.3, most: 3 };
/** A cluster that has just come is left alone until it is in. */
const leftAloneGraces = 4;

/** Clusters of one kind, of which whoever was left alone for the longest is taken next. */
class Turn {
  readonly #waiting: { readonly cluster: number; readonly freeAtMs: number }[];

  constructor(clusters: readonly number[]) {
    this.#waiting = clusters.map((cluster) => ({ cluster, freeAtMs: 0 }));
  }
  take(atMs: number): number | undefined {
    const [first] = this.#waiting;
    if (!first || first.freeAtMs > atMs) return undefined;
    this.#waiting.shift();
    return first.cluster;
  }
  giveBack(cluster: number, freeAtMs: number): void {
    this.#waiting.push({ cluster, freeAtMs });
  }
}

/**
 * Lives of a fleet: each minute some die, most of whom come back and the others are replaced, and some leave while others come. Half
 * of all this happens to agents of their own, however few they are. Nobody is away at the end.
 */
export function planLives(settings: LifeSettings, random: Random): LifePlan {
  const { clusters, lastsMs, graceMs } = settings;
  const all = Array.from({ length: clusters }, (_, cluster) => cluster);
  const real = all.filter((cluster) => isReal(cluster, settings));
  const steady = real.slice(0, Math.ceil(real.length * steadyShare));
  const mortal = { real: real.slice(steady.length), madeUp: all.filter((one) => !isReal(one, settings)) };
  const turns = { real: new Turn(mortal.real), madeUp: new Turn(mortal.madeUp) };
  const actions: Action[] = [];
  const withAgent = new Set<number>();
  let total = clusters;

  const add = (atMs: number, verb: Action['verb'], cluster: number) =>
    actions.push({ atMs: Math.round(atMs), verb, cluster });
  function replace(atMs: number, cluster: number, kind: keyof typeof turns): void {
    const next = total++;
    if (kind === 'real') withAgent.add(next);
    add(atMs, 'leave', cluster);
    add(atMs, 'register', next);
    turns[kind].giveBack(next, atMs + leftAloneGraces * graceMs);
  }
  function die(atMs: number, kind: keyof typeof turns): void {
    const backAtMs =
      atMs + graceMs * (awayGraces.least + random.next() * (awayGraces.most - awayGraces.least));
    const cluster = backAtMs < lastsMs ? turns[kind].take(atMs) : undefined;
    if (cluster === undefined) return;
    add(atMs, 'cut', cluster);
    if (random.chance(replacedShare)) return replace(backAtMs, cluster, kind);
    add(backAtMs, 'back', cluster);
    turns[kind].giveBack(cluster, backAtMs + leftAloneGraces * graceMs);
  }
  function leave(atMs: number, kind: keyof typeof turns): void {
    const cluster = turns[kind].take(atMs);
    if (cluster !== undefined) replace(atMs, cluster, kind);
  }

  const kinds = ['real', 'madeUp'] as const;
  const happenings = [
    ...timesOf(clusters * settings.deaths, lastsMs).map((atMs, at) => ({ atMs, at, happens: die })),
    ...timesOf(clusters * settings.changes, lastsMs).map((atMs, at) => ({ atMs, at, happens: leave })),
  ];
  for (const { atMs, at, happens } of happenings.toSorted((a, b) => a.atMs - b.atMs))
    happens(atMs, kinds[at % kinds.length] ?? 'real');
  const fleet = {
    total,
    atFirst: clusters,
    withAgent,
    groups: ['all'],
    groupOf: Array.from({ length: total }, () => 0),
    actions: actions.toSorted((a, b) => a.atMs - b.atMs),
  };
  return { fleet, steady };
}

/** Evenly over all the time. */
function timesOf(aMinute: number, lastsMs: number): number[] {
  const count = Math.floor((aMinute * lastsMs) / minuteMs);
  return Array.from({ length: count }, (_, index) => ((index + 0.5) * lastsMs) / count);
}
