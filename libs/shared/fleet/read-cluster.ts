import type { StoredObject } from '../kubernetes/index.ts';
import type { ManagedCluster } from '../resources/index.ts';
import { apiGroup, labels as ownLabels } from '../resources/names.ts';
import type { ClusterRow, ClusterState } from './cluster-row.ts';

type Cluster = StoredObject<ManagedCluster & { metadata: object }>;
type Condition = NonNullable<NonNullable<ManagedCluster['status']>['conditions']>[number];

type Shown = Pick<Condition, 'status' | 'reason' | 'message'> & { readonly lastTransitionTime?: string };

const none: Shown = { status: 'Unknown', reason: 'NeverSeen', message: '' };

/** Which condition speaks for the cluster, and what it makes of it: who is out is not judged by heartbeats. */
function stateOf({ metadata, status }: Cluster): { state: ClusterState; by: Shown; isWaiting?: true } {
  const find = (type: string): Shown | undefined =>
    status?.conditions?.find((condition) => condition.type === type);
  const [ready, accepted] = [find('Ready') ?? none, find('Accepted')];
  if (metadata.deletionTimestamp !== undefined)
    return { state: 'out', by: find('Deleting') ?? { ...none, reason: 'Leaving' } };
  if (ready.reason === 'Held') return { state: 'expected', by: accepted ?? ready, isWaiting: true };
  if (accepted?.status === 'False') return { state: 'out', by: accepted };
  if (ready.status === 'True') return { state: 'ready', by: ready };
  if (ready.status === 'False') return { state: 'notReady', by: ready };
  return { state: ready.reason === 'NeverSeen' ? 'expected' : 'unknown', by: ready };
}

/** Without those of Rollcall, which say nothing that the row does not say. */
function labelsOf({ metadata }: Cluster): Record<string, string> {
  return Object.fromEntries(
    Object.entries(metadata.labels ?? {}).filter(([key]) => !key.startsWith(`${apiGroup}/`)),
  );
}

/** A cluster in one row: as little as the wall, the table and the filters need. */
export function clusterRow(cluster: Cluster): ClusterRow {
  const { metadata, spec, status } = cluster;
  const { state, by, isWaiting } = stateOf(cluster);
  const set = metadata.labels?.[ownLabels.clusterSet];
  const labels = labelsOf(cluster);
  const { nodes, lastSeen, kubernetesVersion: version } = status ?? {};
  const sinceMs = Date.parse(by.lastTransitionTime ?? metadata.creationTimestamp ?? '');
  return {
    name: metadata.name,
    ...(spec?.clusterId === undefined ? {} : { id: spec.clusterId }),
    state,
    ...(isWaiting ? { isWaiting } : {}),
    reason: by.reason,
    ...(state === 'ready' || by.message === '' ? {} : { message: by.message }),
    sinceMs: Number.isNaN(sinceMs) ? 0 : sinceMs,
    ...(lastSeen === undefined || lastSeen === 'live' ? {} : { lastSeenMs: Date.parse(lastSeen) }),
    ...(set === undefined ? {} : { set }),
    ...(version === undefined ? {} : { version }),
    ...(nodes?.total === undefined ? {} : { nodes: [nodes.ready ?? 0, nodes.total] as const }),
    ...(Object.keys(labels).length === 0 ? {} : { labels }),
    ...(spec?.unschedulable ? { isCordoned: true as const } : {}),
  };
}
