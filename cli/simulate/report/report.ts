import { type Spread, spreadOf } from './quantile.ts';
import type { HubUsage } from './hub-usage.ts';

/** When a cluster could not be heard. Times are ms since the epoch. */
export interface Absence {
  readonly clusterId: string;
  readonly fromMs: number;
  /** Undefined: until the end. */
  readonly untilMs?: number;
}

interface Leavings {
  readonly begun: number;
  readonly ended: number;
}

/** What the run did, and what the hub wrote of it. */
export interface RunRecord {
  readonly scenario: string;
  readonly seed: number;
  readonly clusters: number;
  /** When the first cluster was registered, when the scenario began, and when it was over. */
  readonly startedAtMs: number;
  readonly beganAtMs: number;
  readonly endedAtMs: number;
  readonly madeUp: { readonly count: number; readonly tookMs: number };
  /** When each agent of its own began to ask. */
  readonly askedAtMs: ReadonlyMap<string, number>;
  /** When the scenario had the first cluster leave. */
  readonly leavingFromMs?: number | undefined;
  /** Clusters whose leaving had begun, and had ended, when the scenario was over. */
  readonly leavings: Leavings;
  readonly troubles: Readonly<Record<string, number>>;
  readonly heartbeats: number;
  /** What the scenario did. */
  readonly absences: readonly Absence[];
  /** What nobody wanted: this process had no time to send. */
  readonly stalls: readonly Absence[];
  readonly events: readonly { readonly clusterId: string; readonly type: string; readonly atMs: number }[];
  readonly outages: readonly {
    readonly change: 'begins' | 'ends';
    readonly atMs: number;
    readonly message: string;
  }[];
  readonly usage: { readonly before: HubUsage; readonly after: HubUsage };
  /** Of one interval: a cluster that was away may be noticed that much after it is back. */
  readonly intervalMs: number;
}

interface Joins {
  readonly count: number;
  readonly perSecond: number;
  readonly ms: Spread;
}

export interface SimulationReport {
  readonly scenario: string;
  readonly seed: number;
  readonly clusters: number;
  readonly seconds: number;
  readonly madeUp: { readonly clusters: number; readonly seconds: number };
  /** Before the first cluster left. */
  readonly joins?: Joins;
  /** From then on. */
  readonly joinsWhileLeaving?: Joins;
  readonly leavings?: Leavings;
  readonly troubles: Readonly<Record<string, number>>;
  readonly heartbeats: { readonly sent: number; readonly perSecond: number };
  readonly silenced: number;
  readonly transitions: Readonly<Record<string, number>>;
  readonly outages: readonly {
    readonly afterSeconds: number;
    readonly heldSeconds?: number;
    readonly message: string;
  }[];
  readonly detection: Readonly<
    Partial<Record<'suspect' | 'unreachable', { readonly clusters: number; readonly ms: Spread }>>
  >;
  /** Clusters that were told silent although they sent heartbeats. */
  readonly wronged: number;
  /** Clusters for which no heartbeat was sent in time by the simulation itself, and how many of them were told silent, rightly. */
  readonly stalled?: { readonly clusters: number; readonly longestMs: number; readonly toldSilent: number };
  readonly apiWrites?: number;
  readonly processes: readonly {
    readonly name: string;
    readonly cpuShare: number;
    readonly residentMiB: number;
  }[];
}

const countBy = <Item>(items: readonly Item[], nameOf: (item: Item) => string): Record<string, number> => {
  const counts: Record<string, number> = {};
  for (const item of items) counts[nameOf(item)] = (counts[nameOf(item)] ?? 0) + 1;
  return counts;
};

/** The absence that an event is about, if there is one. */
function absenceAt(absences: readonly Absence[], atMs: number, slackMs: number): Absence | undefined {
  return absences.findLast(({ fromMs, untilMs = Infinity }) => fromMs <= atMs && atMs <= untilMs + slackMs);
}

/** A cluster that the hub has told silent. */
export interface ToldSilent {
  readonly clusterId: string;
  readonly type: 'suspect' | 'unreachable';
  readonly atMs: number;
  /** What it was silent for; absent: it was not. */
  readonly absence?: Absence;
  /** Nobody wanted that: the simulation had no time to send. */
  readonly isStalled: boolean;
}

/** Everybody whom the hub told silent, beside what they did. */
export function toldSilent(
  run: Pick<RunRecord, 'events' | 'absences' | 'stalls' | 'intervalMs'>,
): ToldSilent[] {
  const { events, intervalMs } = run;
  const absencesOf = Map.groupBy(run.absences, ({ clusterId }) => clusterId);
  const stallsOf = Map.groupBy(run.stalls, ({ clusterId }) => clusterId);
  return events.flatMap(({ clusterId, type, atMs }) => {
    if (type !== 'suspect' && type !== 'unreachable') return [];
    const absence = absenceAt(absencesOf.get(clusterId) ?? [], atMs, intervalMs);
    const stall = absenceAt(stallsOf.get(clusterId) ?? [], atMs, intervalMs);
    return [
      { clusterId, type, atMs, ...(absence ? { absence } : {}), isStalled: !absence && stall !== undefined },
    ];
  });
}

function detectionOf(run: RunRecord) {
  const { stalls } = run;
  const stallsOf = Map.groupBy(stalls, ({ clusterId }) => clusterId);
  const took = { suspect: [] as number[], unreachable: [] as number[] };
  const wronged = new Set<string>();
  const toldStalled = new Set<string>();
  for (const { clusterId, type, atMs, absence, isStalled } of toldSilent(run)) {
    if (absence) took[type].push(atMs - absence.fromMs);
    else (isStalled ? toldStalled : wronged).add(clusterId);
  }
  const longestMs = stalls.reduce(
    (longest, { fromMs, untilMs = fromMs }) => Math.max(longest, untilMs - fromMs),
    0,
  );
  const stalled = { clusters: stallsOf.size, longestMs, toldSilent: toldStalled.size };
  const entries = Object.entries(took).filter(([, all]) => all.length > 0);
  return {
    wronged: wronged.size,
    ...(stalls.length > 0 ? { stalled } : {}),
    detection: Object.fromEntries(
      entries.map(([type, all]) => [type, { clusters: all.length, ms: spreadOf(all) }]),
    ),
  };
}

function outagesOf({ outages, beganAtMs }: RunRecord): SimulationReport['outages'] {
  return outages.flatMap(({ change, atMs, message }, index) => {
    if (change === 'ends') return [];
    const end = outages.slice(index).find((later) => later.change === 'ends');
    return [
      {
        afterSeconds: (atMs - beganAtMs) / 1000,
        message,
        ...(end ? { heldSeconds: (end.atMs - atMs) / 1000 } : {}),
      },
    ];
  });
}

function joinsOf({ askedAtMs, events }: RunRecord, isMeant: (askedMs: number) => boolean): Joins | undefined {
  const took = events.flatMap(({ clusterId, type, atMs }) => {
    const askedMs = askedAtMs.get(clusterId);
    return type === 'joined' && askedMs !== undefined && isMeant(askedMs) ? [{ askedMs, atMs }] : [];
  });
  if (took.length === 0) return undefined;
  const lastedMs =
    Math.max(...took.map(({ atMs }) => atMs)) - Math.min(...took.map(({ askedMs }) => askedMs));
  return {
    count: took.length,
    perSecond: (took.length * 1000) / Math.max(1, lastedMs),
    ms: spreadOf(took.map(({ askedMs, atMs }) => atMs - askedMs)),
  };
}

/** What came of a run, in figures. */
export function reportOf(run: RunRecord): SimulationReport {
  const lastedMs = run.endedAtMs - run.startedAtMs;
  const { before, after } = run.usage;
  const usedBefore = new Map(before.processes.map(({ name, cpuMs }) => [name, cpuMs]));
  const { leavingFromMs = Infinity, leavings } = run;
  const joins = joinsOf(run, (askedMs) => askedMs < leavingFromMs);
  const joinsWhileLeaving = joinsOf(run, (askedMs) => askedMs >= leavingFromMs);
  return {
    scenario: run.scenario,
    seed: run.seed,
    clusters: run.clusters,
    seconds: lastedMs / 1000,
    madeUp: { clusters: run.madeUp.count, seconds: run.madeUp.tookMs / 1000 },
    ...(joins ? { joins } : {}),
    ...(joinsWhileLeaving ? { joinsWhileLeaving } : {}),
    ...(leavings.begun > 0 ? { leavings } : {}),
    troubles: run.troubles,
    heartbeats: { sent: run.heartbeats, perSecond: (run.heartbeats * 1000) / lastedMs },
    silenced: new Set(run.absences.map(({ clusterId }) => clusterId)).size,
    transitions: countBy(run.events, ({ type }) => type),
    outages: outagesOf(run),
    ...detectionOf(run),
    ...(before.apiWrites === undefined || after.apiWrites === undefined
      ? {}
      : { apiWrites: after.apiWrites - before.apiWrites }),
    processes: after.processes.map(({ name, cpuMs, residentBytes }) => ({
      name,
      cpuShare: Math.max(0, cpuMs - (usedBefore.get(name) ?? 0)) / lastedMs,
      residentMiB: residentBytes / 2 ** 20,
    })),
  };
}
