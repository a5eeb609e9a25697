import { isDeepStrictEqual } from 'node:util';
import {
  type ClusterRecord,
  currentIdentity,
  type Decision,
  draft,
  type EventDraft,
  isPredefinedUnbound,
  leaving,
  nameReleased,
  type NameRecord,
  nameReserved,
  predefined,
  predefinedObstacle,
} from '@rollcall/shared/events';
import { annotations, labels, leaveFinalizer } from '@rollcall/shared/resources';
import { type Heartbeat, heartbeatWanted } from '../decision/decision-section.ts';
import { type ClusterObject, ownLabels, setOfObject } from './cluster-change.ts';
import { declaredBy } from '../declarations/author-of-object.ts';

export interface PredefinedContext {
  readonly record: ClusterRecord;
  /** Of the object's name. */
  readonly name: NameRecord;
  readonly object: ClusterObject;
  /** The hub's, where the object says nothing. */
  readonly heartbeat: Heartbeat;
  readonly nowMs: number;
}

/**
 * Whether a person made the object: the projector marks its own, and nobody else can set that mark (deploy/admission). It does not
 * mark a predefined cluster that it has to make again.
 */
export function isMadeByPerson({ metadata }: ClusterObject): boolean {
  return metadata.labels?.[labels.createdBy] === undefined;
}

/**
 * What a person made, and deleted again before the projector had put our finalizer on it: as good as deleted behind it. Otherwise a
 * cluster that was declared in between would be made again.
 * @param nowMs - hub time
 * @returns undefined for an object that had the finalizer, or that no person made: such a one is only missing (principle 6)
 */
export function cutShort(object: ClusterObject, nowMs: number): ClusterObject | undefined {
  const { metadata } = object;
  if (!isMadeByPerson(object) || metadata.finalizers?.includes(leaveFinalizer)) return undefined;
  const deletionTimestamp = metadata.deletionTimestamp ?? new Date(nowMs).toISOString();
  return { ...object, metadata: { ...metadata, deletionTimestamp, finalizers: [leaveFinalizer] } };
}

/** Whether the cluster's agent has not asked yet, or only in vain: then the object alone says what the cluster is. */
export function isBeforeRequest(record: ClusterRecord): boolean {
  return currentIdentity(record) === undefined;
}

function sectionOf({ record, object, heartbeat, nowMs }: PredefinedContext): Decision {
  const { metadata, spec } = object;
  const { actedOn, operations, leavingUid, revokedKeys = [] } = record.decision ?? {};
  const clusterSet = setOfObject(object);
  const kubeconfigOf = (secret: string) => {
    const before = isPredefinedUnbound(record.decision) ? record.decision.predefined.kubeconfig : undefined;
    return before?.secret === secret ? before : { secret, sinceMs: nowMs };
  };
  return {
    verdict: 'predefined',
    clusterName: metadata.name,
    namespace: metadata.name,
    labels: ownLabels(object),
    ...(clusterSet === undefined ? {} : { clusterSet }),
    access: spec.access ?? 'None',
    ...(spec.memberAccess === 'Denied' ? { memberAccess: spec.memberAccess } : {}),
    namespacePolicy: spec.namespacePolicy,
    unschedulable: spec.unschedulable ?? false,
    taints: spec.taints ?? [],
    heartbeat: heartbeatWanted(spec.heartbeat, heartbeat),
    by: declaredBy(object),
    reason: 'Predefined',
    message: `a person made ManagedCluster "${metadata.name}"; a token that names it may bind to it`,
    decidedAtMs: nowMs,
    ...(actedOn === undefined ? {} : { actedOn }),
    ...(operations === undefined ? {} : { operations }),
    ...(leavingUid === undefined ? {} : { leavingUid }),
    predefined: {
      ...(spec.clientId === undefined ? {} : { clientId: spec.clientId }),
      clusterType: spec.clusterType,
      mode: spec.mode,
      ...(spec.kubeconfigSecret === undefined ? {} : { kubeconfig: kubeconfigOf(spec.kubeconfigSecret) }),
    },
    revokedKeys,
  };
}

/** When it was decided, and who changed something that does not count, is not what it says. */
const words = ({ decidedAtMs: _at, by: _by, ...rest }: Decision) => rest;

function saysTheSame(a: Decision, b: Decision): boolean {
  return isDeepStrictEqual(words(a), words(b));
}

/** Whether a ban that was taken back is all that a restored hub knows of the cluster: its deletion has nothing else to end. */
export function isOnlyUnbanned({ identity, decision }: ClusterRecord): boolean {
  const isOut = decision?.verdict === 'held' || decision?.verdict === 'revoked';
  return identity === undefined && isOut && decision.requestId === undefined;
}

/** Nobody ever came: there is no key, no access and no agent to take leave of, so this one event is the whole of it. */
function endOf({ record, name, object, nowMs }: PredefinedContext, decision: Decision): EventDraft[] {
  const { metadata } = object;
  const [which, when] = isOnlyUnbanned(record) ? ['', ''] : ['predefined ', ' before anybody claimed it'];
  const by = { person: metadata.annotations?.[annotations.leaveRequestedBy] ?? 'unknown' };
  const what = {
    by,
    reason: 'Leaving',
    message: `${which}ManagedCluster "${metadata.name}" was deleted${when}`,
  };
  const section = {
    ...decision,
    ...what,
    verdict: 'leaving' as const,
    decidedAtMs: nowMs,
    leavingUid: metadata.uid,
  };
  const clusterId = record.aggregate.id;
  const drafts = [draft(leaving, record, { ...what, section })];
  if (name.holder !== clusterId) return drafts;
  const free = { name: metadata.name, clusterId, free: true };
  return [...drafts, draft(nameReleased, name, { ...what, section: free })];
}

/**
 * What follows from a ManagedCluster that a person made, before an agent has asked as this cluster: it is declared with its
 * name, all or nothing; declared again when it changes; and ended when it is deleted. Afterwards its changes count like those
 * of every other cluster (`cluster-change.ts`).
 */
export function decidePredefined(context: PredefinedContext): EventDraft[] {
  const { record, name, object } = context;
  const { decision } = record;
  const { metadata, spec } = object;
  if (!isBeforeRequest(record)) return [];
  const isDeclared =
    decision?.verdict === 'predefined' &&
    isPredefinedUnbound(decision) &&
    decision.clusterName === metadata.name;
  if (metadata.deletionTimestamp !== undefined) {
    const mayEnd = isDeclared || (isOnlyUnbanned(record) && decision?.clusterName === metadata.name);
    return mayEnd && decision && metadata.finalizers?.includes(leaveFinalizer)
      ? endOf(context, decision)
      : [];
  }
  // A late watch can still show an object whose deletion was acted on.
  if (decision?.leavingUid === metadata.uid) return [];
  // The projector has marked it as the projection of a record: of one that has ended since, or of another id. No new change.
  if (!isDeclared && metadata.labels?.[labels.clusterId] !== undefined) return [];
  if (predefinedObstacle({ name: metadata.name, spec, cluster: record, holder: name })) return [];
  const section = sectionOf(context);
  if (isDeclared && saysTheSame(decision, section)) return [];
  const { by, reason, message } = section;
  const drafts = [draft(predefined, record, { by, reason, message, section })];
  const clusterId = record.aggregate.id;
  if (name.holder === clusterId) return drafts;
  const taken = { name: metadata.name, clusterId, free: false };
  const forWhom = `reserved for the predefined cluster "${clusterId}"`;
  return [...drafts, draft(nameReserved, name, { by, reason: 'Reserved', message: forWhom, section: taken })];
}
