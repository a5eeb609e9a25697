import type { EventLog } from '@rollcall/shared/bus';
import { decideAndAppend } from '@rollcall/shared/decisions';
import { toRollcallError } from '@rollcall/shared/errors';
import { clusterRecord, type ClusterRecord, type EventDraft } from '@rollcall/shared/events';
import {
  createResourceCache,
  type KubeClient,
  type KubeObject,
  type Resource,
  resources,
} from '@rollcall/shared/kubernetes';
import type { ClusterRegistrationRequest, ManagedCluster } from '@rollcall/shared/resources';
import type { Logger } from '@rollcall/shared/service';
import type { Heartbeat } from './cluster-section.ts';
import { clusterIdOfObject, decideClusterWish } from './cluster-wish.ts';
import type { Fence } from './fence-probe.ts';
import { decidePersonDecision, readPersonDecision } from './person-decision.ts';
import { createReconciler } from './reconciler.ts';
import { settleRevocation } from './settle-clusters.ts';

export interface PeopleParts {
  readonly log: EventLog;
  readonly client: KubeClient;
  readonly logger: Logger;
  readonly signal: AbortSignal;
  readonly fence: Pick<Fence, 'missing' | 'check'>;
  readonly heartbeat: Heartbeat;
  nowMs(): number;
}

export interface Listening {
  /** Looks at everything that people want again: the fence is back. */
  lookAgain(): void;
  drain(): Promise<void>;
}

/**
 * Turns what people do with ClusterRegistrationRequests and ManagedClusters into decisions. An object that is missing or was
 * deleted without our finalizer is no wish; while the fence is missing, everything waits.
 */
export function hearPeople(parts: PeopleParts): Listening {
  const { log, client, logger, signal, fence, heartbeat } = parts;

  /** @returns whether it was a wish that something followed from */
  async function act(clusterId: string, decide: (record: ClusterRecord) => EventDraft[]): Promise<boolean> {
    const read = async () => clusterRecord(await log.read({ kind: 'cluster', id: clusterId }));
    const record = await read();
    const { identity, newest } = record;
    if (!identity || (decide(record).length > 0 && !(await fenceHolds(clusterId)))) return false;
    const trace = { correlation: identity.request.id, traceparent: newest?.traceparent };
    const { drafts } = await decideAndAppend(log, { gather: read, decide }, trace);
    for (const { by, reason } of drafts) {
      logger.info(
        { clusterId, reason, person: by?.person ?? 'unknown', correlation: trace.correlation },
        'a person decided',
      );
    }
    await settleRevocation(log, clusterId, trace);
    return drafts.length > 0;
  }

  async function fenceHolds(clusterId: string): Promise<boolean> {
    const why = fence.missing() ?? (await fence.check());
    if (why !== undefined)
      logger.warn({ clusterId, code: 'FENCE_MISSING', reason: why }, 'a wish waits for the fence');
    return why === undefined;
  }

  const requestLooks = createReconciler({
    logger,
    async handle(name) {
      const object = requests.get(name);
      const wish = object && readPersonDecision(object);
      if (!wish) return;
      await act(name, (record) => decidePersonDecision({ record, wish, heartbeat, nowMs: parts.nowMs() }));
    },
  });
  const clusterLooks = createReconciler({
    logger,
    async handle(name) {
      const object = clusters.get(name);
      const clusterId = object && clusterIdOfObject(object);
      if (!object || clusterId === undefined) return;
      const decide = (record: ClusterRecord) =>
        decideClusterWish({ record, object, heartbeat, nowMs: parts.nowMs() });
      if (await act(clusterId, decide)) clusterLooks.wake(name);
    },
  });

  const watch = <T extends KubeObject>(resource: Resource) =>
    createResourceCache<T>(client, resource, {
      signal,
      onError: (error) =>
        logger.warn({ err: toRollcallError(error), object: resource.plural }, 'watch was interrupted'),
    });
  const requests = watch<ClusterRegistrationRequest>(resources.clusterRegistrationRequests);
  const clusters = watch<ManagedCluster>(resources.managedClusters);
  requests.onChange(({ object }) => {
    if (object.spec.decision) requestLooks.wake(object.metadata.name);
  });
  clusters.onChange(({ object }) => clusterLooks.wake(object.metadata.name));

  return {
    lookAgain() {
      for (const { metadata, spec } of requests.list()) if (spec.decision) requestLooks.wake(metadata.name);
      for (const { metadata } of clusters.list()) clusterLooks.wake(metadata.name);
    },
    async drain() {
      await Promise.all([requests.whenEnded, clusters.whenEnded]);
      await Promise.all([requestLooks.drain(), clusterLooks.drain()]);
    },
  };
}
