import { mostRevocations } from '../../libs/shared/rights/nats-account-claims.ts';
import type { Numbers } from './numbers/numbers.ts';

/** What a fleet of that size takes of memory and disk: no queue, so nothing is simulated. */
export interface Sizes {
  readonly connectionsPerServer: number;
  /** Of a server that keeps streams, which are the first three, or the only one. */
  readonly streamServerBytes: number;
  readonly otherServerBytes: number;
  /** On each server that keeps them: at once, and what a year of ordinary life adds. */
  readonly streamBytes: number;
  readonly streamYearBytes: number;
  readonly heartbeatBytes: number;
  readonly heartbeatStartBytes: number;
  readonly projectorBytes: number;
  readonly etcdBytes: number;
  readonly apiBytes: number;
  /** On the revocation list at any time, where agents are replaced as assumed; it holds `mostRevocations`. */
  readonly revocations: number;
}

/** docs/scale.md: the longest life of a credential and an hour. */
const revokedForHours = 73;
const hoursAYear = 24 * 365;
/** Of a Node that runs a service and knows no cluster (bench/results/2026-11-22-ed0a142-changed-joins-burst-restart.json). */
const serviceBytes = 135e6;
const natsBytes = 25e6;

export function sizesOf(clusters: number, numbers: Numbers): Sizes {
  const connectionsPerServer = clusters / numbers.natsServers;
  const connections = natsBytes + connectionsPerServer * numbers.natsConnectionBytes;
  const shown = clusters * (numbers.showsAll > 0 ? 1 : numbers.exceptionShare);
  const namespaces = clusters * (numbers.namespacesForAll > 0 ? 1 : numbers.accessShare);
  const stored =
    shown * numbers.clusterObjectBytes +
    namespaces * (numbers.namespaceBytes + numbers.namespaceContentBytes);
  const own = clusters / numbers.heartbeatParts;
  return {
    connectionsPerServer,
    streamServerBytes: connections + clusters * numbers.natsSubjectsBytes,
    otherServerBytes: connections,
    streamBytes: clusters * (numbers.eventsBytes + numbers.factsBytes),
    streamYearBytes: clusters * numbers.eventsYearBytes,
    heartbeatBytes: serviceBytes + own * numbers.heartbeatBytes,
    heartbeatStartBytes: serviceBytes + own * numbers.heartbeatStartBytes,
    projectorBytes: serviceBytes + shown * numbers.projectorBytes,
    etcdBytes: stored * numbers.etcdTimes,
    apiBytes: stored * numbers.apiBytesPerStored,
    revocations: (clusters * numbers.replacedAYear * revokedForHours) / hoursAYear,
  };
}

/** How many days until the disk of the streams is so full that the hub takes nobody any more. */
export function daysUntilFull(
  sizes: Pick<Sizes, 'streamBytes' | 'streamYearBytes'>,
  numbers: Numbers,
): number {
  const room = numbers.natsDiskGb * 1e9 * fullShare - sizes.streamBytes;
  return Math.max(0, (room / sizes.streamYearBytes) * 365);
}

/** services/registrar/limits/refuse-when-full.ts */
export const fullShare = 0.85;
export { mostRevocations };
