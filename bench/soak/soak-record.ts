import type { EventLog } from '@rollcall/shared/bus';
import type { Fleet } from '../../cli/simulate/clusters/fleet.ts';
import type { Action } from '../../cli/simulate/clusters/fleet-plan.ts';
import { type Absence, type RunRecord, toldSilent } from '../../cli/simulate/report/report.ts';
import { stateAfter } from '../../cli/simulate/report/run-watch.ts';
import type { PeopleRecord } from './people.ts';
import type { Stall } from './own-stalls.ts';
import type { StrikeDone } from './run-strikes.ts';
import type { Sample } from './take-sample.ts';

/** How long something took, and when it began; from when the fleet was there. */
export interface Took {
  readonly atMs: number;
  readonly tookMs: number;
}

/** Everything that a soak is judged by. */
export interface SoakRecord {
  readonly lastsMs: number;
  readonly samples: readonly Sample[];
  readonly strikes: readonly StrikeDone[];
  readonly people: PeopleRecord;
  /** What was done to clusters, facts apart. */
  readonly changes: number;
  readonly changedFacts: number;
  readonly wronged: Wronged;
  /** From the cut of a connection until the bus is told. */
  readonly lossesTold: readonly Took[];
  /** From the beginning of a silence until the event. */
  readonly unreachable: readonly Took[];
  /** From the beginning of an agent until the event. */
  readonly joins: readonly Took[];
  /** Who is not as they should be once nothing happens any more. */
  readonly restless: readonly string[];
  readonly deadLetters: readonly string[];
  /** Of `rollcall verify`. */
  readonly findings: readonly string[];
  /** When the soak itself had no time for its agents. */
  readonly ownStalls: readonly Stall[];
  /** What agents met, by phase and error code. */
  readonly troubles: Readonly<Record<string, number>>;
}

/** Who was told silent although they sent heartbeats. */
export interface Wronged {
  readonly unreachable: readonly string[];
  readonly suspect: readonly string[];
}

export interface SoakHistory extends Pick<SoakRecord, 'joins' | 'restless'> {
  readonly events: RunRecord['events'];
}

interface RunPlace {
  readonly prefix: string;
  readonly fromSequence: number;
  /** In hub time. */
  readonly beganAtMs: number;
}

/** What the history says since the fleet was there. */
export async function readSoakHistory(
  log: Pick<EventLog, 'scan'>,
  { prefix, fromSequence, beganAtMs }: RunPlace,
  { actions, fleet }: { actions: readonly Action[]; fleet: Pick<Fleet, 'idOf' | 'askedAtMs'> },
): Promise<SoakHistory> {
  const events: RunRecord['events'][number][] = [];
  const joins: Took[] = [];
  const states = new Map<string, string>();
  for await (const { kind, id, type, timeMs } of log.scan({ fromSequence, onSkip: () => undefined })) {
    const state = stateAfter[type];
    if (kind !== 'cluster' || !id.startsWith(prefix) || state === undefined) continue;
    states.set(id, state);
    events.push({ clusterId: id, type, atMs: timeMs });
    const askedAtMs = fleet.askedAtMs.get(id);
    if (type === 'joined' && askedAtMs !== undefined && askedAtMs >= beganAtMs)
      joins.push({ atMs: askedAtMs - beganAtMs, tookMs: timeMs - askedAtMs });
  }
  return { events, joins, restless: restlessOf(actions, states, fleet.idOf) };
}

/** Whoever came must be in, whoever left must be gone, and whoever was there before must be Ready still. */
function restlessOf(
  actions: readonly Action[],
  states: ReadonlyMap<string, string>,
  idOf: (cluster: number) => string,
): string[] {
  const wanted = new Map([...states.keys()].map((id) => [id, 'ready']));
  for (const { verb, cluster } of actions) {
    if (verb === 'register') wanted.set(idOf(cluster), 'ready');
    if (verb === 'leave') wanted.set(idOf(cluster), 'gone');
  }
  return [...wanted].flatMap(([id, state]) => {
    const is = states.get(id) ?? 'unknown';
    return is === state ? [] : [`${id} is ${is}, and should be ${state}`];
  });
}

/** Whoever leaves may be silent from then on. */
export function departuresOf(
  actions: readonly Action[],
  { beganAtMs, idOf }: { beganAtMs: number; idOf: (cluster: number) => string },
): Absence[] {
  return actions.flatMap(({ atMs, verb, cluster }) =>
    verb === 'leave' ? [{ clusterId: idOf(cluster), fromMs: beganAtMs + atMs }] : [],
  );
}

type Silences = Pick<RunRecord, 'events' | 'absences' | 'stalls' | 'intervalMs'>;

/** What the hub said of those that were silent, and of those that were not. */
export function silenceRecord(
  run: Silences & {
    readonly beganAtMs: number;
    readonly graceMs: number;
    readonly losses: readonly { readonly clusterId: string; readonly atMs: number }[];
    /** Of all agents, as they share a process. */
    readonly ownStalls: readonly Stall[];
    hasAgent(clusterId: string): boolean;
  },
): Pick<SoakRecord, 'wronged' | 'lossesTold' | 'unreachable'> {
  const told = toldSilent(run);
  // Whoever was silent by it is told so a grace later at the most.
  const isOurs = (atMs: number) =>
    run.ownStalls.some(({ fromMs, untilMs }) => atMs >= fromMs && atMs <= untilMs + run.graceMs);
  const wronged = (type: string) => [
    ...new Set(
      told.flatMap((one) =>
        one.type === type && !one.absence && !one.isStalled && !isOurs(one.atMs) ? [one.clusterId] : [],
      ),
    ),
  ];
  const lossesOf = Map.groupBy(run.losses, ({ clusterId }) => clusterId);
  const sinceBegin = (atMs: number, fromMs: number) => ({
    atMs: fromMs - run.beganAtMs,
    tookMs: atMs - fromMs,
  });
  return {
    wronged: { unreachable: wronged('unreachable'), suspect: wronged('suspect') },
    lossesTold: run.absences.flatMap(({ clusterId, fromMs, untilMs = Infinity }) => {
      const loss = run.hasAgent(clusterId)
        ? lossesOf.get(clusterId)?.find(({ atMs }) => atMs >= fromMs && atMs <= untilMs)
        : undefined;
      return loss ? [sinceBegin(loss.atMs, fromMs)] : [];
    }),
    unreachable: told.flatMap(({ type, atMs, absence }) =>
      type === 'unreachable' && absence ? [sinceBegin(atMs, absence.fromMs)] : [],
    ),
  };
}
