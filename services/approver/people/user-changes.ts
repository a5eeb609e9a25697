import type { EventLog, Trace } from '@rollcall/shared/bus';
import {
  type Arrivals,
  createKeyedQueue,
  createReconciler,
  decideAndAppend,
  inBatches,
} from '@rollcall/shared/decisions';
import { toRollcallError } from '@rollcall/shared/errors';
import {
  type ClusterRecord,
  createEventId,
  type EventDraft,
  nameRecord,
  bulkHeld,
} from '@rollcall/shared/events';
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
import type { Logger } from '@rollcall/shared/service';
import { inSpan } from '@rollcall/shared/tracing';
import type { Heartbeat } from '../decision/decision-section.ts';
import {
  clusterIdOfObject,
  type ClusterObject,
  decideClusterChange,
  isUntouched,
  setOfObject,
} from './cluster-change.ts';
import { objectName } from '../admission/object-words.ts';
import { clusterWords, requestWords, withoutWords } from './unproven-words.ts';
import type { AdmissionGate } from '../admission/while-in-place.ts';
import { decidePersonDecision, readPersonDecision } from './person-decision.ts';
import { decidePredefined, isBeforeRequest, isMadeByPerson } from './predefined-cluster.ts';
import { gatherBulk, type BulkParts } from '../bulk/bulk-change.gather.ts';
import { passOrHold, putsOut } from '../bulk/bulk-change.ts';
import { putOutLog } from '../bulk/put-out.ts';
import { decideRevocation, followUpRevocation } from '../decision/follow-ups.ts';
import { type PeoplesRecord, readForPeople } from './read-cluster.ts';

export interface PeopleParts {
  readonly log: EventLog;
  readonly client: KubeClient;
  readonly logger: Logger;
  readonly gate: AdmissionGate;
  readonly heartbeat: Heartbeat;
  /** Who is put out in a bulk change waits for a confirmation. */
  readonly bulk: Pick<BulkParts, 'fleet' | 'limit'>;
  /** While clusters join, those that were deleted leave two a second. */
  readonly arrivals: Pick<Arrivals, 'areUnderWay'>;
  /** How long the agent of a cluster that leaves has to clean up. */
  readonly leaveWaitMs: number;
  /** What people said before the hub was restored, and counts no more (restored-projection.ts). */
  readonly spent?: ReadonlySet<string> | undefined;
  /** Why nobody can be put into the set of that name, or undefined. */
  setProblem?(name: string): string | undefined;
  nowMs(): number;
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
 * Deleted clusters that are decided about at a time, and once a second while others join. Each is some twenty messages, the cut of
 * its key and the return of its agent, and each batch looks at the admission policies once or twice.
 */
const departures = { atOnce: 2, everyMs: 1000 } as const;

/** A ManagedCluster, and what of it does not count, of one moment: the list gets shorter once a later version is seen. */
interface Read {
  readonly object: ClusterObject;
  readonly unprovenWords: ReadonlySet<string>;
}

/** What follows from a change. */
type Decide = (record: PeoplesRecord) => EventDraft[];

const seeing =
  (decide: Decide): Decide =>
  (record) =>
    decide(record).filter((event) => !record.isBlind || putsOut(record, event));

/**
 * Turns what people do with ClusterRegistrationRequests and ManagedClusters into decisions. An object that is missing or was
 * deleted without our finalizer is no change. While the admission policies do not hold, everything waits, and what was written then
 * does not count.
 */
export function followUserChanges(parts: PeopleParts): Listening {
  const { log, client, logger, gate, heartbeat, leaveWaitMs, spent } = parts;
  const { signal, unproven } = gate;
  const queue = createKeyedQueue();
  const departureTurn = inBatches(() => (parts.arrivals.areUnderWay() ? departures.everyMs : 0));

  const readCluster = (id: string) => readForPeople(log, id);

  /**
   * @param wanted - of what was read before the call and of the record alone: nothing that a person wrote since was checked
   * @returns whether there may be more
   */
  async function act(clusterId: string, wanted: Decide): Promise<boolean> {
    const decide = seeing(wanted);
    const record = await readCluster(clusterId);
    const { identity, newest } = record;
    if (!identity) return false;
    const isChange = decide(record).length > 0;
    // Most looks find nothing to do: each status that the projector writes wakes one.
    if (!isChange && decideRevocation(record).length === 0) return false;
    if (isChange && !(await admissionHolds(clusterId))) return false;
    // A change that a newer record lets through was not asked for above; the next look asks.
    const checked = isChange ? decide : () => [];
    const correlation = identity.request.id;
    const step = {
      name: 'approver person',
      kind: 'internal',
      traceparent: newest?.traceparent,
      attributes: {
        'rollcall.service': 'approver',
        'rollcall.event.id': clusterId,
        'rollcall.correlation': correlation,
      },
    } as const;
    const isActedOn = await inSpan(step, (traceparent) =>
      actOn(record, checked, { correlation, traceparent }),
    );
    return isActedOn || !isChange;
  }

  async function actOn(record: PeoplesRecord, decide: Decide, trace: Trace): Promise<boolean> {
    const clusterId = record.aggregate.id;
    const look = async () => {
      const now = await readCluster(clusterId);
      return { record: now, drafts: decide(now) };
    };
    const write = () =>
      decideAndAppend(
        putOutLog(log),
        {
          gather: () => gatherBulk({ log, ...parts.bulk, nowMs: parts.nowMs }, look),
          decide: (gathered) => (gathered.bulk ? passOrHold(gathered.bulk) : gathered.drafts),
        },
        trace,
      );
    // All that put members out are counted in one place: at the same time they would only conflict with each other.
    const isCounted = decide(record).some((event) => putsOut(record, event));
    const { drafts } = await (isCounted ? queue('counted', write) : write());
    for (const { definition, by, reason, message } of drafts) {
      if (definition === bulkHeld) logger.warn({ clusterId, code: 'BULK_HELD' }, message);
      else if (definition.kind === 'cluster')
        logger.info(
          { clusterId, reason, person: by?.person ?? 'unknown', correlation: trace.correlation },
          'a person decided',
        );
    }
    await followUpRevocation(log, clusterId, trace);
    return drafts.length > 0;
  }

  /**
   * What a person laid down about a cluster before its agent came.
   * @returns false: the agent has asked already, so that the object is one like any other
   */
  async function predefine(clusterId: string, { object, unprovenWords }: Read): Promise<boolean> {
    const gather = async () => {
      // Both are waited for together: what fails alone, while the other one is awaited, would end the process.
      const [record, name] = await Promise.all([
        readCluster(clusterId),
        log.read({ kind: 'name', id: object.metadata.name }),
      ]);
      const counts = withoutWords(object, unprovenWords, record.decision);
      return { record, name: nameRecord(name), object: counts, heartbeat, nowMs: parts.nowMs() };
    };
    const context = await gather();
    if (!isBeforeRequest(context.record)) return false;
    if (decidePredefined(context).length > 0 && !(await admissionHolds(clusterId))) return true;
    const trace = { correlation: createEventId(parts.nowMs()) };
    const { drafts } = await decideAndAppend(log, { gather, decide: decidePredefined }, trace);
    for (const { definition, reason, message } of drafts) {
      logger.info({ clusterId, state: definition.type, reason }, message);
    }
    return true;
  }

  function lookAtPredefined(): void {
    for (const object of clusters.list()) {
      const isInVain = !object.metadata.finalizers?.includes(leaveFinalizer);
      if (isInVain && isMadeByPerson(object)) clusterLooks.wake(object.metadata.name);
    }
  }

  async function admissionHolds(clusterId: string): Promise<boolean> {
    const why = await gate.whyHeld();
    if (why !== undefined)
      logger.warn(
        { clusterId, code: 'ADMISSION_MISSING', reason: why },
        'what a person wrote waits for the admission policies',
      );
    return why === undefined;
  }

  const requestLooks = createReconciler({
    logger,
    async handle(name) {
      const object = requests.get(name);
      const decision = object && readPersonDecision(object);
      if (!decision || requestWords(object).some((word) => unproven.of(requestName(name)).has(word))) return;
      const decide = (record: ClusterRecord) =>
        decidePersonDecision({ record, decision, spent, heartbeat, nowMs: parts.nowMs() });
      if (await act(name, decide)) requestLooks.wake(name);
    },
  });
  async function lookAtCluster(name: string): Promise<void> {
    const object = clusters.get(name);
    const clusterId = object && clusterIdOfObject(object);
    if (!object || clusterId === undefined) return;
    const unprovenWords = new Set(unproven.of(clusterName(name)));
    const set = setOfObject(object);
    const setProblem = set === undefined ? undefined : parts.setProblem?.(set);
    const settings = { heartbeat, leaveWaitMs, setProblem };
    if (isMadeByPerson(object) && (await predefine(clusterId, { object, unprovenWords }))) return;
    const decide = (record: ClusterRecord) =>
      decideClusterChange({
        record,
        object: withoutWords(object, unprovenWords, record.decision),
        spent,
        ...settings,
        nowMs: parts.nowMs(),
      });
    if (await act(clusterId, decide)) wakeCluster(object);
  }
  const clusterLooks = createReconciler({ logger, handle: lookAtCluster });
  /** A mass of them keeps nobody who revokes, bans or cordons waiting. */
  const departureLooks = createReconciler({
    logger,
    concurrency: departures.atOnce,
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
    if (kind === 'deleted') lookAtPredefined();
  });

  return {
    lookAgain() {
      for (const { metadata, spec } of requests.list()) if (spec.decision) requestLooks.wake(metadata.name);
      for (const object of clusters.list()) wakeCluster(object);
    },
    lookAtPredefined,
    async drain() {
      await Promise.all([requests.whenEnded, clusters.whenEnded]);
      await Promise.all([requestLooks, clusterLooks, departureLooks].map((looks) => looks.drain()));
    },
  };
}
