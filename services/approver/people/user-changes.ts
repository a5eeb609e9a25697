import {
  type Arrivals,
  createDepartureTurn,
  createReconciler,
  departuresAtOnce,
} from '@rollcall/shared/decisions';
import { toRollcallError } from '@rollcall/shared/errors';
import type { ClusterRecord } from '@rollcall/shared/events';
import {
  createResourceCache,
  type KubeClient,
  type KubeObject,
  type Resource,
  resources,
} from '@rollcall/shared/kubernetes';
import {
  type ClusterRegistrationRequest,
  leaveFinalizer,
  type ManagedCluster,
} from '@rollcall/shared/resources';
import { objectName } from '../admission/object-words.ts';
import { type Acted, actOnChanges, type ActingParts } from './act-on-changes.ts';
import {
  clusterIdOfObject,
  type ClusterObject,
  decideClusterChange,
  isUntouched,
  setOfObject,
} from './cluster-change.ts';
import { decidePersonDecision, readPersonDecision } from './person-decision.ts';
import { cutShort, isMadeByPerson } from './predefined-cluster.ts';
import { clusterWords, requestWords, withoutWords } from './unattributed-words.ts';

export interface PeopleParts extends ActingParts {
  readonly client: KubeClient;
  /** While clusters join, those that were deleted leave two a second. */
  readonly arrivals: Pick<Arrivals, 'areUnderWay'>;
  /** How long the agent of a cluster that leaves has to clean up. */
  readonly leaveWaitMs: number;
  /** What people said before the hub was restored, and counts no more (restored-projection.ts). */
  readonly spent?: ReadonlySet<string> | undefined;
  /** Why nobody can be put into the set of that name, or undefined. */
  setProblem?(name: string): string | undefined;
}

export interface Listening {
  /** Looks at everything that people want again: the admission policies are back. */
  lookAgain(): void;
  /** Looks again at what people made beforehand in vain: an id or a name may be free now. */
  lookAtPredefined(): void;
  drain(): Promise<void>;
}

const requestName = (name: string) => objectName(resources.clusterRegistrationRequests.plural, name);
const clusterName = (name: string) => objectName(resources.managedClusters.plural, name);

/**
 * Turns what people do with ClusterRegistrationRequests and ManagedClusters into decisions. An object that is missing or was
 * deleted without our finalizer is no change. While the admission policies do not hold, everything waits, and what was written then
 * does not count.
 */
export function followUserChanges(parts: PeopleParts): Listening {
  const { client, logger, gate, heartbeat, leaveWaitMs, spent } = parts;
  const { signal, unproven } = gate;
  const departureTurn = createDepartureTurn(parts.arrivals);

  const { readCluster, act, predefine } = actOnChanges(parts);

  function lookAtPredefined(): void {
    for (const object of clusters.list()) {
      const isInVain = !object.metadata.finalizers?.includes(leaveFinalizer);
      if (isInVain && isMadeByPerson(object)) clusterLooks.wake(object.metadata.name);
    }
  }

  const requestLooks = createReconciler({
    logger,
    async handle(name) {
      const object = requests.get(name);
      const decision = object && readPersonDecision(object);
      if (!decision || requestWords(object).some((word) => unproven.of(requestName(name)).has(word))) return;
      const decide = (record: ClusterRecord) =>
        decidePersonDecision({ record, decision, spent, heartbeat, nowMs: parts.nowMs() });
      if ((await act(name, decide)) === 'more') requestLooks.wake(name);
    },
  });
  /** By name, until acted on: what `cutShort` says of it is all that is left. */
  const cutShorts = new Map<string, ClusterObject>();
  async function lookAtCluster(name: string): Promise<void> {
    const ended = cutShorts.get(name);
    const object = ended ?? clusters.get(name);
    // Nothing shows it any more: it waits here for the admission policies.
    if (!object || (ended && (await gate.whyHeld()) !== undefined)) return;
    const acted = await lookAtObject(object);
    if (!ended) return acted === 'more' ? wakeCluster(object) : undefined;
    // They may have ceased to hold since.
    if (acted === 'done' && cutShorts.get(name) === ended) cutShorts.delete(name);
    clusterLooks.wake(name);
  }
  async function lookAtObject(object: ClusterObject): Promise<Acted> {
    const clusterId = clusterIdOfObject(object);
    if (clusterId === undefined) return 'done';
    const unprovenWords = new Set(unproven.of(clusterName(object.metadata.name)));
    const set = setOfObject(object);
    const setProblem = set === undefined ? undefined : parts.setProblem?.(set);
    const settings = { heartbeat, leaveWaitMs, setProblem };
    const mayBeFirst = isMadeByPerson(object) || object.metadata.deletionTimestamp !== undefined;
    const predefined = mayBeFirst && (await predefine(clusterId, { object, unprovenWords }));
    if (predefined) return predefined;
    return act(clusterId, (record) =>
      decideClusterChange({
        record,
        object: withoutWords(object, unprovenWords, record.decision),
        spent,
        ...settings,
        nowMs: parts.nowMs(),
      }),
    );
  }
  const clusterLooks = createReconciler({ logger, handle: lookAtCluster });
  /** A mass of them keeps nobody who revokes, bans or cordons waiting. */
  const departureLooks = createReconciler({
    logger,
    concurrency: departuresAtOnce,
    async handle(name) {
      const object = clusters.get(name);
      const clusterId = object && clusterIdOfObject(object);
      if (clusterId === undefined) return;
      // Each status of a cluster that leaves wakes a look; only the decision needs a turn, and what it follows from is read then.
      const isDecided = (await readCluster(clusterId)).decision?.verdict === 'leaving';
      if (!isDecided) await departureTurn();
      await lookAtCluster(name);
    },
  });
  function wakeCluster({ metadata, spec }: ClusterObject): void {
    // An operation beside the deletion is answered first.
    const isOnlyDeleted = metadata.deletionTimestamp !== undefined && spec.operation === undefined;
    (isOnlyDeleted ? departureLooks : clusterLooks).wake(metadata.name);
  }

  const watch = <T extends KubeObject>(resource: Resource) =>
    createResourceCache<T>(client, resource, {
      signal,
      onError: (error) =>
        logger.warn({ err: toRollcallError(error), object: resource.plural }, 'watch was interrupted'),
    });
  const requests = watch<ClusterRegistrationRequest>(resources.clusterRegistrationRequests);
  const clusters = watch<ManagedCluster>(resources.managedClusters);
  requests.onChange(({ kind, object }) => {
    const { name } = object.metadata;
    unproven.seen(requestName(name), kind === 'deleted' ? [] : requestWords(object));
    if (object.spec.decision) requestLooks.wake(name);
  });
  clusters.onChange(({ kind, object }) => {
    unproven.seen(clusterName(object.metadata.name), kind === 'deleted' ? [] : clusterWords(object));
    if (!isUntouched(object)) wakeCluster(object);
    if (kind !== 'deleted') return;
    const ended = cutShort(object, parts.nowMs());
    if (ended) {
      cutShorts.set(object.metadata.name, ended);
      clusterLooks.wake(object.metadata.name);
    }
    lookAtPredefined();
  });

  return {
    lookAgain() {
      for (const { metadata, spec } of requests.list()) if (spec.decision) requestLooks.wake(metadata.name);
      for (const object of clusters.list()) wakeCluster(object);
      for (const name of cutShorts.keys()) clusterLooks.wake(name);
    },
    lookAtPredefined,
    async drain() {
      await Promise.all([requests.whenEnded, clusters.whenEnded]);
      await Promise.all([requestLooks, clusterLooks, departureLooks].map((looks) => looks.drain()));
    },
  };
}
