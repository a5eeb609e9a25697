import { figureOf, figureOfParts, serviceNames } from '../status/ask-services.ts';
import { clusterCounts } from '../status/hub-status.ts';
import type { FleetSample } from './fleet-sample.ts';

/** The fleet in figures; undefined is what nobody said, and per second what two samples are needed for. */
export interface FleetFigures {
  readonly at: string;
  readonly hub: string;
  readonly outage: boolean;
  readonly clusters: number | undefined;
  readonly clustersByState: Readonly<Record<string, number>>;
  readonly joinsInLastMinute: number;
  readonly waitingRequests: number | undefined;
  readonly oldestWaitingSeconds: number | undefined;
  readonly projectorLagSeconds: number | undefined;
  readonly heartbeatsPerSecond: number | undefined;
  readonly eventsPerSecond: number | undefined;
  readonly events: number | undefined;
  readonly services: readonly { readonly name: string; readonly replicas: number; readonly ready: number }[];
}

/** Per second between two samples; undefined for the first one, and where a counter began anew. */
export function rate(
  now: number | undefined,
  before: number | undefined,
  elapsedMs: number,
): number | undefined {
  if (now === undefined || before === undefined || elapsedMs <= 0 || now < before) return undefined;
  return ((now - before) * 1000) / elapsedMs;
}

/** @param before - the sample before it, for what is counted per second */
export function fleetFigures(
  sample: FleetSample,
  before: FleetSample | undefined,
  hub: string,
): FleetFigures {
  const { answers } = sample;
  const elapsedMs = before === undefined ? 0 : sample.atMs - before.atMs;
  const counts = clusterCounts(answers);
  return {
    at: `${new Date(sample.atMs).toISOString().slice(0, 19)}Z`,
    hub,
    outage: figureOf(answers, 'heartbeat', 'outage') === 1,
    clusters: counts && Object.values(counts).reduce((sum, count) => sum + count, 0),
    clustersByState: counts ?? {},
    joinsInLastMinute: sample.joinedAtMs.length,
    waitingRequests: figureOf(answers, 'projector', 'waitingRequests'),
    oldestWaitingSeconds: figureOf(answers, 'projector', 'oldestWaitingSeconds'),
    projectorLagSeconds: figureOf(answers, 'projector', 'lagSeconds'),
    heartbeatsPerSecond: rate(
      figureOfParts(answers, 'heartbeats'),
      before && figureOfParts(before.answers, 'heartbeats'),
      elapsedMs,
    ),
    eventsPerSecond: rate(sample.lastSequence, before?.lastSequence, elapsedMs),
    events: sample.lastSequence,
    services: serviceNames.map((name) => {
      const replicas = answers.filter((answer) => answer.name === name);
      const ready = replicas.filter(({ figures }) => figures['ready'] === 1).length;
      return { name, replicas: replicas.length, ready };
    }),
  };
}
