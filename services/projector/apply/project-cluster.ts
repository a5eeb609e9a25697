import { type ClusterRecord, clusterRecord, isNewer, isSafeId } from '@rollcall/shared/events';
import type { ClusterTools } from './projection-context.ts';
import type { Pass } from '../queue/work-queue.ts';
import { judgeVisibility, mayRequestGo, type ShownProjection } from '../desired/visibility.ts';
import { createDebounce } from './debounce.ts';
import { createClusterObjects, shownName } from './write-cluster.ts';
import { createShowRequest } from './show-request.ts';
import { createShowStatus } from './trace-shown-status.ts';

/** How long a replica of the stream may lag behind the one that was read before; after that the tail is taken for lost. */
const lagMs = 500;
const lostTailCheckMs = 60_000;

/** Makes a cluster's two objects show what its record and facts say. */
export function createClusterProjection(tools: ClusterTools): (clusterId: string) => Promise<Pass> {
  const { view, writer, nowMs, exceptionsOnly } = tools;
  const showStatus = createShowStatus(tools);
  const debounce = createDebounce(tools);
  const clusters = createClusterObjects(tools, { showStatus, debounce });
  const showRequest = createShowRequest(tools, showStatus);
  const behind = new Set<string>();

  function shownProjection({ aggregate, decision }: ClusterRecord): ShownProjection {
    const cluster = decision && view.clusters.get(decision.clusterName);
    return {
      cluster: cluster?.spec.clusterId === aggregate.id ? cluster : undefined,
      request: view.requests.get(aggregate.id),
    };
  }

  async function hideCluster(record: ClusterRecord, { cluster, request }: ShownProjection): Promise<Pass> {
    if (cluster) await clusters.letGo(cluster.metadata.name, record);
    if (!request) return { isShown: true };
    if (!mayRequestGo(request)) return showRequest(record);
    await writer.remove(view.requests, request);
    return { isShown: true };
  }

  /** The newest projection was made from a later event than the record knows: a lagging replica, or a lost tail (principle 1). */
  function isBehindWitness(record: ClusterRecord): boolean {
    const { head } = record;
    const { cluster, request } = shownProjection(record);
    return [request?.status?.observed, cluster?.status?.observed].some(
      (observed) => observed !== undefined && (!head || isNewer({ digest: '', ...observed }, head)),
    );
  }

  function waitForWitness(clusterId: string, record: ClusterRecord): Pass {
    const wasBehind = behind.has(clusterId);
    behind.add(clusterId);
    if (wasBehind) {
      tools.logger.warn(
        { clusterId, seq: record.head?.sequence ?? 0 },
        'the API server shows a later event than the stream has',
      );
    }
    return { isShown: wasBehind, againInMs: wasBehind ? lostTailCheckMs : lagMs };
  }

  return async (clusterId) => {
    // Whoever may write a ManagedCluster can have its label say anything.
    if (!isSafeId(clusterId)) return { isShown: true };
    const record = clusterRecord(await tools.log.read({ kind: 'cluster', id: clusterId }));
    tools.waiting.note(record);
    await Promise.all([view.clusters.lookUp(shownName(record)), view.requests.lookUp(clusterId)]);
    const isBehind = isBehindWitness(record);
    if (!isBehind) behind.delete(clusterId);
    const waiting = isBehind ? waitForWitness(clusterId, record) : undefined;
    tools.metrics.gauge('rollcall_projector_behind_witness', behind.size);
    if (waiting) return waiting;
    const debounceMs = debounce.waitMs(record);
    const isLater = debounceMs > 0;
    const projection = shownProjection(record);
    // Most of those that join are well before anybody could have looked.
    if (exceptionsOnly && isLater && !projection.cluster) return { isShown: false, againInMs: debounceMs };
    const isToBeMade = record.decision?.verdict === 'approved' && !projection.cluster;
    // Else only a status shows them.
    const facts = isLater && !isToBeMade ? undefined : await tools.facts.get(clusterId);
    const judge = () =>
      exceptionsOnly &&
      judgeVisibility(record, facts, shownProjection(record).cluster, { nowMs: nowMs(), ...exceptionsOnly });
    if (judge() === 'unneeded') return hideCluster(record, projection);
    const shown = await clusters.show(record, facts, isLater);
    if (!shown.isShown) return shown;
    if (isLater) return { isShown: false, againInMs: debounceMs };
    const request = await showRequest(record);
    // What was written just now may have been all that kept it: whoever made the object may have said what nobody had asked for.
    const visibility = judge();
    if (!request.isShown || !visibility) return request.isShown ? shown : request;
    const goesInMs = visibility === 'unneeded' ? 0 : Math.max(0, visibility.untilMs - nowMs());
    return { ...shown, againInMs: Math.min(shown.againInMs ?? goesInMs, goesInMs) };
  };
}
