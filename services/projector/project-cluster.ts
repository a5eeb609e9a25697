import type { EventLog, FactStore } from '@rollcall/shared/bus';
import { RollcallError } from '@rollcall/shared/errors';
import {
  type ClusterRecord,
  clusterRecord,
  isNewer,
  predefinedId,
  type StoredEvent,
} from '@rollcall/shared/events';
import type { StoredObject } from '@rollcall/shared/kubernetes';
import {
  apiVersion,
  clusterRegistrationRequest,
  type ClusterRegistrationRequest,
  labels,
  leaveFinalizer,
  managedCluster,
  type ManagedCluster,
} from '@rollcall/shared/resources';
import type { Logger, Metrics } from '@rollcall/shared/service';
import { inSpan, traceIdOf } from '@rollcall/shared/tracing';
import { nodeLabelsPatch } from './cluster-labels.ts';
import { phaseOf } from './cluster-standing.ts';
import {
  type ClusterFacts,
  type ClusterShape,
  desiredCluster,
  isDecisionUnshown,
} from './desired-cluster.ts';
import { givenSince, isOfPeople, shownUpTo } from './given-labels.ts';
import { desiredRequest, type RequestShape } from './desired-request.ts';
import { type JsonObject, mergePatchBetween, plain, statusPatch } from './difference.ts';
import type { Pass } from './dirty-objects.ts';
import type { KubeView } from './kube-view.ts';
import { isMadeToSee, judgeSight, mayRequestGo, type ShownPicture } from './out-of-sight.ts';
import { factFields } from './shown-facts.ts';
import type { Throttle } from './throttle.ts';
import type { WaitingRequests } from './waiting-requests.ts';
import type { ObjectWriter } from './write-object.ts';

export interface ClusterTools {
  readonly log: Pick<EventLog, 'read' | 'scan'>;
  readonly facts: Pick<FactStore, 'get'>;
  readonly view: KubeView;
  readonly writer: ObjectWriter;
  readonly factThrottle: Throttle;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly waiting: Pick<WaitingRequests, 'note'>;
  readonly nowMs: () => number;
  readonly settleMs: Readonly<Record<'undecided' | 'joining', number>>;
  /** Where clusters that nobody has to see are out of sight (ADR 36): how long one stays after the last that happened to it. */
  readonly exceptionsOnly: { readonly calmForMs: number } | undefined;
  /** Has another cluster looked at. */
  mark(clusterId: string): void;
}

/** How long a replica of the stream may lag behind the one that was read before; after that the tail is taken for lost. */
const lagMs = 500;
/** The object is gone, or a newer picture was there: the watch says so soon, and until then every look would end the same way. */
const lookAgainMs = 100;
const lostTailCheckMs = 60_000;

type ShownCluster = StoredObject<ManagedCluster>;
type ShownRequest = StoredObject<ClusterRegistrationRequest>;

/** Whether only what the agent reports has changed: it may wait, a transition may not. */
function isDetail(fields: readonly string[]): boolean {
  return fields.every((field) => (factFields as readonly string[]).includes(field));
}

/** Finalizers in a merge patch replace the whole list, so the patch holds only for the version that was read. */
function finalizersPatch(object: ShownCluster, finalizers: readonly string[]): JsonObject {
  return { metadata: { finalizers, resourceVersion: object.metadata.resourceVersion } };
}

/**
 * What differs in metadata and spec, as far as it is ours to write now.
 * @param shape.labels - those that are to be written; others are left, because a person may just have set them
 */
function clusterShapePatch(record: ClusterRecord, current: ShownCluster, shape: ClusterShape): JsonObject {
  const { finalizers = [], labels: shown = {}, deletionTimestamp } = current.metadata;
  const given = isDecisionUnshown(record, current);
  // What it says beyond its name are defaults of the API server, and would read as wishes.
  const settings = isMadeToSee(current) ? shape.settings : {};
  const wantedSpec = given ? { ...shape.spec, ...settings } : { clusterId: shape.spec.clusterId };
  const labelPatch = mergePatchBetween(shown, { ...shown, ...shape.labels });
  const specPatch = mergePatchBetween(plain(current.spec), plain({ ...current.spec, ...wantedSpec }));
  // After the deletionTimestamp the API server takes no new finalizer.
  const lacksFinalizer = !deletionTimestamp && shape.finalizers.some((one) => !finalizers.includes(one));
  const metadata = {
    ...(Object.keys(labelPatch).length > 0 ? { labels: labelPatch } : {}),
    ...(lacksFinalizer
      ? {
          finalizers: [...finalizers, ...shape.finalizers],
          resourceVersion: current.metadata.resourceVersion,
        }
      : {}),
  };
  return {
    ...(Object.keys(metadata).length > 0 ? { metadata } : {}),
    ...(Object.keys(specPatch).length > 0 ? { spec: specPatch } : {}),
  };
}

function requestShapePatch(current: ShownRequest, shape: RequestShape): JsonObject {
  const { decision: _, ...ours } = current.spec;
  const spec = mergePatchBetween(plain(ours), plain(shape));
  return Object.keys(spec).length > 0 ? { spec } : {};
}

/** The names under which the API server shows each cluster: more than one, if it left and came back by another name. */
function indexNames({ clusters }: KubeView): ReadonlyMap<string, ReadonlySet<string>> {
  const namesOf = new Map<string, Set<string>>();
  clusters.cache.onChange(({ kind, object: { metadata, spec } }) => {
    // What a person made beforehand is not ours to take away.
    if (spec.clusterId === undefined || metadata.labels?.[labels.createdBy] !== 'projector') return;
    const names = namesOf.get(spec.clusterId) ?? new Set<string>();
    if (kind === 'deleted') names.delete(metadata.name);
    else names.add(metadata.name);
    if (names.size > 0) namesOf.set(spec.clusterId, names);
    else namesOf.delete(spec.clusterId);
  });
  return namesOf;
}

/** Makes a cluster's two objects show what its record and facts say. */
export function createClusterProjection(tools: ClusterTools): (clusterId: string) => Promise<Pass> {
  const { view, writer, nowMs, exceptionsOnly } = tools;
  const settling = new Map<string, { phase: string; sinceMs: number }>();
  const namesOf = indexNames(view);
  const behind = new Set<string>();

  /** How long the picture may still wait for the next event; a phase that comes to an end starts the next one's time. */
  function settleForMs(clusterId: string, record: ClusterRecord): number {
    const phase = phaseOf(record);
    if (phase === 'settled') {
      settling.delete(clusterId);
      return 0;
    }
    let start = settling.get(clusterId);
    if (start?.phase !== phase) {
      start = { phase, sinceMs: nowMs() };
      settling.set(clusterId, start);
    }
    return Math.max(0, start.sinceMs + tools.settleMs[phase] - nowMs());
  }

  /** A name that still shows another cluster becomes free once that one's own record says so. */
  function claimName(clusterId: string, current: ShownCluster | undefined): void {
    const holder = current && predefinedId(current.spec);
    if (holder === undefined || holder === clusterId) return;
    tools.mark(holder);
    throw new RollcallError(
      'APPEND_CONFLICT',
      `managed cluster "${current?.metadata.name}" still shows cluster "${holder}"`,
    );
  }

  async function letGo(name: string, clusterId: string): Promise<void> {
    const current = view.clusters.get(name);
    // A person may have made it anew meanwhile: that one carries no mark of ours, and is none of this cluster's past.
    if (current?.metadata.labels?.[labels.clusterId] !== clusterId) return;
    const { finalizers = [], deletionTimestamp } = current.metadata;
    let last: ShownCluster | undefined = current;
    // Before the delete, so that the approver never takes our own delete for a person's wish.
    if (finalizers.includes(leaveFinalizer)) {
      const others = finalizers.filter((one) => one !== leaveFinalizer);
      last = await writer.patch(view.clusters, current, {
        patch: finalizersPatch(current, others),
        importance: 'transition',
      });
    }
    if (last && deletionTimestamp === undefined) await writer.remove(view.clusters, last);
    tools.factThrottle.forget(clusterId);
    settling.delete(clusterId);
  }

  /** Creates the object if it is missing; this waits for nothing. */
  async function ensureCluster(
    record: ClusterRecord,
    name: string,
    shape: ClusterShape,
  ): Promise<ShownCluster | undefined> {
    const current = view.clusters.get(name);
    claimName(record.aggregate.id, current);
    if (current) return current;
    const made = await writer.create(view.clusters, {
      apiVersion,
      kind: managedCluster.kind,
      metadata: { name, labels: { ...shape.nodeLabels, ...shape.labels }, finalizers: [...shape.finalizers] },
      spec: { ...shape.spec, ...shape.settings },
    });
    claimName(record.aggregate.id, made);
    return made;
  }

  function noteShown({ aggregate }: ClusterRecord, newest: StoredEvent, object: string): void {
    const seconds = Math.max(0, nowMs() - newest.timeMs) / 1000;
    tools.metrics.observe('rollcall_projection_duration_seconds', seconds);
    const { sequence: seq, correlation, traceparent } = newest;
    const traceId = traceIdOf(traceparent) ?? '';
    tools.logger.debug({ clusterId: aggregate.id, object, seq, correlation, traceId }, 'status shown');
  }

  /**
   * Writes a status as the last step of the trace that its newest event belongs to. A status that shows no new event, but
   * facts or a repaired field, is no step of anything, and its event may be old: it says nothing of the lag.
   */
  async function showStatus(
    record: ClusterRecord,
    current: ShownCluster | ShownRequest,
    write: () => Promise<boolean>,
  ): Promise<boolean> {
    const { newest, head, aggregate } = record;
    const shown = current.status?.observed;
    const isNews = head !== undefined && (!shown || isNewer(head, shown));
    if (!newest || !isNews) return write();
    const object = `${current.kind}/${current.metadata.name}`;
    const step = {
      name: 'projector status',
      kind: 'internal',
      traceparent: newest.traceparent,
      attributes: {
        'rollcall.service': 'projector',
        'rollcall.object': object,
        'rollcall.event.id': aggregate.id,
        'rollcall.event.sequence': newest.sequence,
        'rollcall.correlation': newest.correlation,
      },
    } as const;
    return inSpan(step, async () => {
      const isTaken = await write();
      if (isTaken) noteShown(record, newest, object);
      return isTaken;
    });
  }

  /** Of the labels of a decision that is not shown yet, all that are ours, and of those of people what was given since. */
  async function labelsToWrite(
    record: ClusterRecord,
    current: ShownCluster,
    wanted: ClusterShape['labels'],
  ): Promise<ClusterShape['labels']> {
    if (!isDecisionUnshown(record, current)) return {};
    const { labels: shown = {} } = current.metadata;
    const isOpen = Object.entries(wanted).some(
      ([label, value]) => isOfPeople(label) && shown[label] !== value,
    );
    if (!isOpen || isMadeToSee(current)) return wanted;
    const { aggregate, lastOf } = record;
    const history = await Array.fromAsync(tools.log.scan({ filter: `cluster.${aggregate.id}.*` }));
    if (!history.some(({ sequence }) => sequence === lastOf.approver?.sequence))
      throw new RollcallError(
        'BUS_UNREACHABLE',
        'the history cannot be read: the servers that answer are behind',
      );
    const given = givenSince(history, shownUpTo(current, record, history));
    const toWrite = Object.entries(wanted).filter(([label]) => !isOfPeople(label) || given.has(label));
    return Object.fromEntries(toWrite);
  }

  async function showCluster(
    record: ClusterRecord,
    facts: ClusterFacts | undefined,
    isLater: boolean,
  ): Promise<Pass> {
    const clusterId = record.aggregate.id;
    const name = record.decision?.clusterName ?? record.identity?.clusterName ?? '';
    const wanted = desiredCluster(record, facts, view.clusters.get(name));
    // A cluster keeps its name until it leaves: under another one it is shown as it was before it left.
    for (const former of namesOf.get(clusterId) ?? []) if (former !== name) await letGo(former, clusterId);
    if (wanted.presence === 'gone') await letGo(wanted.name, clusterId);
    if (wanted.presence !== 'present') return { isShown: true };
    let current = await ensureCluster(record, name, wanted.shape);
    if (!current) return { isShown: false, againInMs: lookAgainMs };
    if (isLater) return { isShown: true };
    const toWrite = await labelsToWrite(record, current, wanted.shape.labels);
    const shapePatch = clusterShapePatch(record, current, { ...wanted.shape, labels: toWrite });
    if (Object.keys(shapePatch).length > 0)
      current = await writer.patch(view.clusters, current, { patch: shapePatch, importance: 'transition' });
    if (!current) return { isShown: false, againInMs: lookAgainMs };
    // Again, because generation and conditions are now those of the object as it is.
    const now = desiredCluster(record, facts, current);
    // A decision that changes nothing to be seen is witnessed too: the approver takes only what is newer for a person's wish.
    const isUnshown = isDecisionUnshown(record, current);
    const difference =
      now.presence === 'present' ? statusPatch(current.status, now.status, isUnshown) : undefined;
    const nodeLabels = nodeLabelsPatch(current.metadata.labels ?? {}, wanted.shape.nodeLabels);
    const isLabelled = Object.keys(nodeLabels).length === 0;
    if (!difference && isLabelled) return { isShown: true };
    const importance = !difference || (!isUnshown && isDetail(difference.fields)) ? 'fact' : 'transition';
    const waitMs = importance === 'fact' ? tools.factThrottle.waitMs(clusterId, nowMs()) : 0;
    if (waitMs > 0) return { isShown: true, againInMs: waitMs };
    const target = current;
    const isTaken =
      !difference ||
      (await showStatus(record, target, () =>
        writer.patchStatus(view.clusters, target, { patch: difference.patch, importance }),
      ));
    if (!isTaken) return { isShown: false, againInMs: lookAgainMs };
    if (!isLabelled)
      await writer.patch(view.clusters, target, {
        patch: { metadata: { labels: nodeLabels } },
        importance: 'fact',
      });
    tools.factThrottle.wrote(clusterId, nowMs());
    return { isShown: true };
  }

  async function showRequest(record: ClusterRecord): Promise<Pass> {
    const wanted = desiredRequest(record);
    if (wanted.presence === 'unmentioned') return { isShown: true };
    let current = view.requests.get(wanted.name);
    if (wanted.presence === 'gone') {
      if (current) await writer.remove(view.requests, current);
      return { isShown: true };
    }
    if (current) {
      const shapePatch = requestShapePatch(current, wanted.shape);
      if (Object.keys(shapePatch).length > 0)
        current = await writer.patch(view.requests, current, {
          patch: shapePatch,
          importance: 'transition',
        });
    } else {
      const { kind } = clusterRegistrationRequest;
      current = await writer.create(view.requests, {
        apiVersion,
        kind,
        metadata: { name: wanted.name },
        spec: wanted.shape,
      });
    }
    // The approver takes a decision of a person only from a picture that shows its own last word.
    const isUnshown = current !== undefined && isDecisionUnshown(record, current);
    const difference = current && statusPatch(current.status, wanted.status, isUnshown);
    if (!difference)
      return { isShown: current !== undefined, ...(current ? {} : { againInMs: lookAgainMs }) };
    const target = current as ShownRequest;
    const isTaken = await showStatus(record, target, () =>
      writer.patchStatus(view.requests, target, { patch: difference.patch, importance: 'transition' }),
    );
    return isTaken ? { isShown: true } : { isShown: false, againInMs: lookAgainMs };
  }

  function shownPicture({ aggregate, decision }: ClusterRecord): ShownPicture {
    const cluster = decision && view.clusters.get(decision.clusterName);
    return {
      cluster: cluster?.spec.clusterId === aggregate.id ? cluster : undefined,
      request: view.requests.get(aggregate.id),
    };
  }

  async function takeOutOfSight(record: ClusterRecord, { cluster, request }: ShownPicture): Promise<Pass> {
    if (cluster) await letGo(cluster.metadata.name, record.aggregate.id);
    if (!request) return { isShown: true };
    if (!mayRequestGo(request)) return showRequest(record);
    await writer.remove(view.requests, request);
    return { isShown: true };
  }

  /** The newest picture was made from a later event than the record knows: a lagging replica, or a lost tail (decision 1). */
  function isBehindWitness(record: ClusterRecord): boolean {
    const { head } = record;
    const { cluster, request } = shownPicture(record);
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
    const record = clusterRecord(await tools.log.read({ kind: 'cluster', id: clusterId }));
    tools.waiting.note(record);
    const isBehind = isBehindWitness(record);
    if (!isBehind) behind.delete(clusterId);
    const waiting = isBehind ? waitForWitness(clusterId, record) : undefined;
    tools.metrics.gauge('rollcall_projector_behind_witness', behind.size);
    if (waiting) return waiting;
    const settleMs = settleForMs(clusterId, record);
    const isLater = settleMs > 0;
    const picture = shownPicture(record);
    // Most of those that join are well before anybody could have looked.
    if (exceptionsOnly && isLater && !picture.cluster) return { isShown: false, againInMs: settleMs };
    const isToBeMade = record.decision?.verdict === 'approved' && !picture.cluster;
    // Else only a status shows them.
    const facts = isLater && !isToBeMade ? undefined : await tools.facts.get(clusterId);
    const sight =
      exceptionsOnly && judgeSight(record, facts, picture.cluster, { nowMs: nowMs(), ...exceptionsOnly });
    if (sight === 'unneeded') return takeOutOfSight(record, picture);
    const shown = await showCluster(record, facts, isLater);
    if (!shown.isShown) return shown;
    if (isLater) return { isShown: false, againInMs: settleMs };
    const request = await showRequest(record);
    if (!request.isShown || !sight) return request.isShown ? shown : request;
    const goesInMs = Math.max(0, sight.untilMs - nowMs());
    return { ...shown, againInMs: Math.min(shown.againInMs ?? goesInMs, goesInMs) };
  };
}
