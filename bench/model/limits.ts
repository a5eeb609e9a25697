import type { Numbers } from './numbers/numbers.ts';
import type { ScenarioResult } from './run-scenario.ts';
import { lateHandshakes, type ScenarioName } from './scenarios.ts';
import { fullShare, mostRevocations, sizesOf } from './sizes.ts';
import { rulesFor } from './world.ts';

/** Something that a fleet can be too large for. */
export interface Limit {
  readonly place: string;
  /** Undefined: it follows from the size alone. */
  readonly scenario: ScenarioName | undefined;
  /** What is used of it; from 1 on it is too much. */
  readonly usedShare: number;
}

const gigabyte = 1e9;
const threeIntervals = 3;

const limit = (place: string, used: number, of: number): Limit => ({
  place,
  scenario: undefined,
  usedShare: used / of,
});

/** Memory, disk, lists, and what follows from the hub's own rules. */
export function limitsOfSize(clusters: number, numbers: Numbers): Limit[] {
  const sizes = sizesOf(clusters, numbers);
  const natsMemory = numbers.natsGb * gigabyte * numbers.usableMemoryShare;
  const { heartbeatIntervalMs } = rulesFor(clusters, numbers);
  const disk = sizes.streamBytes + sizes.streamYearBytes * numbers.diskYears;
  const cutMs = sizes.connectionsPerServer * numbers.natsClaimsPushMs;
  return [
    limit('memory of a NATS server that keeps streams', sizes.streamServerBytes, natsMemory),
    limit(
      'memory of a NATS server without streams',
      numbers.natsServers > 3 ? sizes.otherServerBytes : 0,
      natsMemory,
    ),
    limit('disk of the streams without an archive', disk, numbers.natsDiskGb * gigabyte * fullShare),
    limit('etcd', sizes.etcdBytes, numbers.etcdQuotaGb * gigabyte),
    limit('memory of the API server', sizes.apiBytes, numbers.apiGb * gigabyte * numbers.usableMemoryShare),
    limit('heap of a projector', sizes.projectorBytes, numbers.nodeHeapBytes),
    limit('revocation list', sizes.revocations, mostRevocations),
    limit('a key is cut: one core of a NATS server', cutMs / 1000, numbers.keyCutWithinSeconds),
    limit(
      'intervals: a silent cluster is noticed',
      (threeIntervals * heartbeatIntervalMs) / 1000,
      numbers.silenceWithinSeconds,
    ),
  ];
}

/** How long a scenario may take, by the figure that says so. */
const timeLimits: Readonly<
  Partial<Record<ScenarioName, { figure: string; within: keyof Numbers; place: string }>>
> = {
  outage: { figure: 'back, p99', within: 'backWithinSeconds', place: 'time to return' },
  blink: { figure: 'back, p99', within: 'backWithinSeconds', place: 'time to return' },
  'server-lost': { figure: 'back, p99', within: 'backWithinSeconds', place: 'time to return' },
  lapsed: { figure: 'back, p99', within: 'backWithinSeconds', place: 'registrars: time to return' },
  burst: { figure: 'first connection → Ready, p99', within: 'joinedWithinSeconds', place: 'time to join' },
  leaving: { figure: 'gone, p99', within: 'goneWithinSeconds', place: 'time to leave' },
  'heartbeat-restart': {
    figure: 'ready',
    within: 'readyWithinSeconds',
    place: 'start of a heartbeat service',
  },
  'projector-restart': {
    figure: 'ready',
    within: 'comparedWithinSeconds',
    place: 'comparison by a projector',
  },
};

const returning: ReadonlySet<ScenarioName> = new Set(['outage', 'blink', 'server-lost']);

/** Times that are too long, work in vain, and queues that grow for ever. */
export function limitsOfScenario(result: ScenarioResult, numbers: Numbers): Limit[] {
  const { scenario, machines, figures, clusters } = result;
  const valueOf = (figure: string | undefined) => figures.find(({ what }) => what === figure)?.value;
  const limits: Limit[] = [];
  const note = (place: string, usedShare: number) => limits.push({ place, scenario, usedShare });

  const { figure, within, place = '' } = timeLimits[scenario] ?? {};
  const ms = valueOf(figure);
  // Who has no valid credentials takes twice the time, by the hub's own rule.
  const times = scenario === 'lapsed' ? 2 : 1;
  if (ms !== undefined && within !== undefined) note(place, ms / 1000 / numbers[within] / times);
  if (scenario === 'rest') for (const { name, peakShare } of machines) note(`cores: ${name}`, peakShare);
  if (returning.has(scenario)) {
    const agents = scenario === 'server-lost' ? clusters / numbers.natsServers : clusters;
    note('NATS servers: handshakes in vain', (valueOf(lateHandshakes) ?? 0) / agents / numbers.inVainShare);
    // What a service hears too late it takes for silence.
    const graceMs = threeIntervals * rulesFor(clusters, numbers).heartbeatIntervalMs;
    const heartbeat = machines.find(({ name }) => name === 'heartbeat');
    note('heartbeat services: longer behind than the grace', (heartbeat?.waitMs.p99 ?? 0) / graceMs);
  }
  return limits;
}
