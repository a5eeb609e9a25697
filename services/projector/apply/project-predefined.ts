import type { EventLog } from '@rollcall/shared/bus';
import {
  type AuthorUnknown,
  clusterRecord,
  foldRecord,
  nameRecord,
  type PredefinedObstacle,
  predefinedId,
  predefinedObstacle,
} from '@rollcall/shared/events';
import type { StoredObject } from '@rollcall/shared/kubernetes';
import { labels, type ManagedCluster } from '@rollcall/shared/resources';
import { judgeConditions } from '../desired/conditions/cluster-conditions.ts';
import { conditionList } from '../desired/condition-list.ts';
import type { ClusterStatus } from '../desired/desired-cluster.ts';
import { statusPatch } from '../desired/difference.ts';
import type { Pass } from '../queue/work-queue.ts';
import type { KubeView } from './kube-view.ts';
import type { UnknownAuthors } from './unknown-authors.ts';
import type { ObjectWriter } from './write-object.ts';

export interface PredefinedTools {
  readonly log: Pick<EventLog, 'read'>;
  readonly view: KubeView;
  readonly writer: ObjectWriter;
  readonly nowMs: () => number;
  readonly unknownAuthors: Pick<UnknownAuthors, 'of'>;
}

/** The approver declares it meanwhile, or it is in vain; then the id or the name may become free. */
const lookAgainMs = 2000;
const inVainAgainMs = 60_000;

/** Whether a person made the object and no record stands behind it yet: the projector marks every object that it shows. */
export function isUnboundObject({ metadata }: StoredObject<ManagedCluster>): boolean {
  return metadata.labels?.[labels.clusterId] === undefined && metadata.deletionTimestamp === undefined;
}

/** The status of an object that defines no cluster: why, and nothing else is known. */
function statusInVain(
  current: ManagedCluster,
  obstacle: PredefinedObstacle | AuthorUnknown,
  nowMs: number,
): ClusterStatus {
  const nothing = clusterRecord(foldRecord({ kind: 'cluster', id: 'none' }, []));
  const judged = judgeConditions({ record: nothing, facts: undefined, isDeletionAsked: false });
  const accepted = { type: 'Accepted', status: 'False', ...obstacle, atMs: nowMs } as const;
  const all = judged.map((each) => (each.type === 'Accepted' ? accepted : { ...each, atMs: nowMs }));
  return {
    conditions: conditionList(all, current.status?.conditions ?? [], current.metadata.generation),
  };
}

/**
 * Shows why a ManagedCluster that a person made has no effect: another cluster has its id or its name, or nobody knows who wrote it.
 * One that has an effect is shown by its record like every other cluster (`project-cluster.ts`).
 */
export function createPredefinedProjection(tools: PredefinedTools): (name: string) => Promise<Pass> {
  const { log, view, writer, nowMs, unknownAuthors } = tools;
  return async (name) => {
    const object = view.clusters.get(name);
    const id = object && predefinedId(object.spec);
    if (!object || id === undefined || !isUnboundObject(object)) return { isShown: true };
    const [cluster, holder] = await Promise.all([
      log.read({ kind: 'cluster', id }),
      log.read({ kind: 'name', id: name }),
    ]);
    const taken = predefinedObstacle({
      name,
      spec: object.spec,
      cluster: clusterRecord(cluster),
      holder: nameRecord(holder),
    });
    const obstacle = taken ?? (await unknownAuthors.of(view.clusters, object));
    if (!obstacle) return { isShown: true, againInMs: lookAgainMs };
    const difference = statusPatch(object.status, statusInVain(object, obstacle, nowMs()));
    if (difference) {
      await writer.patchStatus(view.clusters, object, { patch: difference.patch, priority: 'fact' });
    }
    return { isShown: true, againInMs: inVainAgainMs };
  };
}
