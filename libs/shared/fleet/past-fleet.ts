import type { EventLog, OnSkip } from '@rollcall/shared/bus';
import {
  clocksDifferMs,
  clusterRecord,
  eventCatalogue,
  type EventWriter,
  foldRecord,
  isNewer,
  policyDeclaration,
  type StoredEvent,
} from '@rollcall/shared/events';
import type { ClusterRow } from './cluster-row.ts';
import { pastCluster } from './past-cluster.ts';
import { compareText } from './sort-clusters.ts';

export interface PastFleet {
  /** By name. */
  readonly clusters: readonly ClusterRow[];
  /** Names of the policies that stood, by name. */
  readonly policies: readonly string[];
}

export interface PastMoment {
  readonly atMs: number;
  readonly onSkip: OnSkip;
  /** Is told of each event that counts. What it throws ends the reading. */
  readonly onEvent?: (event: Pick<StoredEvent, 'sequence' | 'timeMs'>, read: number) => void;
}

/** Who says whether a cluster was in and well; what else is said of it is not decoded. */
const writers: ReadonlySet<EventWriter> = new Set(['registrar', 'approver', 'heartbeat']);
type Kind = 'cluster' | 'policy';
const unwanted: ReadonlySet<string> = new Set(
  eventCatalogue.filter(({ writer }) => !writers.has(writer)).map(({ kind, type }) => `${kind}.${type}`),
);
const isWanted = ({ kind, type }: { kind: string; type: string }): boolean =>
  (kind === 'cluster' || kind === 'policy') && !unwanted.has(`${kind}.${type}`);

/** A name is that of who is in, else of who may come in; others only asked for it. */
const rankOf = ({ state }: ClusterRow): number => (state === 'out' ? 2 : state === 'expected' ? 1 : 0);

/**
 * The whole fleet by its events up to a moment, in one pass. Of each cluster only the newest event of each writer is kept, so a long
 * history takes time and no more memory. What only Kubernetes knows of a cluster (its version, labels that people gave its object) is
 * not in it.
 */
export async function readPastFleet(
  log: Pick<EventLog, 'scan'>,
  { atMs, onSkip, onEvent }: PastMoment,
): Promise<PastFleet> {
  const found: Record<Kind, Map<string, Map<EventWriter, StoredEvent>>> = {
    cluster: new Map(),
    policy: new Map(),
  };
  let read = 0;
  for await (const event of log.scan({ isWanted, onSkip })) {
    if (event.timeMs > atMs + clocksDifferMs) break;
    if (event.timeMs > atMs) continue;
    onEvent?.(event, ++read);
    const { id, definition } = event;
    const ofKind = found[event.kind as Kind];
    const lastOf = ofKind.get(id) ?? new Map<EventWriter, StoredEvent>();
    ofKind.set(id, lastOf);
    const before = lastOf.get(definition.writer);
    if (!before || isNewer(event, before)) lastOf.set(definition.writer, event);
  }
  const records = (kind: Kind) =>
    [...found[kind]].map(([id, lastOf]) => foldRecord({ kind, id }, lastOf.values()));
  const clusters = records('cluster').flatMap(
    (record) => pastCluster(record.aggregate.id, clusterRecord(record)) ?? [],
  );
  const byName = new Map<string, ClusterRow>();
  for (const row of clusters) {
    const other = byName.get(row.name);
    if (!other || rankOf(row) < rankOf(other)) byName.set(row.name, row);
  }
  const policies = records('policy').flatMap((record) => {
    const policy = policyDeclaration(record);
    return policy && !policy.withdrawn && policy.rules.length > 0 ? [policy.name] : [];
  });
  return {
    clusters: [...byName.values()].toSorted((one, other) => compareText(one.name, other.name)),
    policies: policies.toSorted(compareText),
  };
}
