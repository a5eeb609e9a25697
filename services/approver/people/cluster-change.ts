import { isDeepStrictEqual } from 'node:util';
import {
  approved,
  changed,
  cordoned,
  type ClusterRecord,
  type Decision,
  denied,
  draft,
  type EventDraft,
  type Identity,
  isNewer,
  isSafeId,
  leaving,
  predefinedId,
  uncordoned,
  waitsAsNewcomer,
} from '@rollcall/shared/events';
import type { StoredObject } from '@rollcall/shared/kubernetes';
import { annotations, labels, leaveFinalizer, type ManagedCluster } from '@rollcall/shared/resources';
import { acceptNotHeard } from '@rollcall/shared/resources/condition-reason';
import { carriedLabels } from '@rollcall/shared/resources/label-syntax';
import {
  accessWithdrawn,
  allKeysTaken,
  approvalAfter,
  type Heartbeat,
  heartbeatWanted,
  type SectionBase,
  sectionAfter,
} from '../decision/decision-section.ts';
import { declaredBy, unknownPerson } from '../declarations/author-of-object.ts';
import { leavingSection } from '../decision/decide-leave.ts';
import { decideRevocation } from '../decision/events-after-decision.ts';
import { decideOperation } from './cluster-operations.ts';

export type ClusterObject = StoredObject<ManagedCluster>;

/** The id of the cluster that a ManagedCluster is about. Whoever may write one may have the label say what is no id. */
export function clusterIdOfObject({ metadata, spec }: ClusterObject): string | undefined {
  const id = predefinedId(spec) ?? metadata.labels?.[labels.clusterId];
  return id !== undefined && isSafeId(id) ? id : undefined;
}

/**
 * Whether the object is still as the projector made it: nobody has changed spec or deleted it, and what labels mean is only looked
 * at once a status shows which decision they are to be compared with. Each join makes one such object.
 */
export function isUntouched({ metadata, status }: ClusterObject): boolean {
  const isOurs = metadata.labels?.[labels.createdBy] === 'projector';
  const isFirst = metadata.generation === 1 && metadata.deletionTimestamp === undefined;
  return isOurs && isFirst && status?.observed === undefined;
}

/** Labels that a person may give: all but the reserved ones. */
export function ownLabels({ metadata }: ClusterObject): Record<string, string> {
  return carriedLabels(metadata.labels ?? {});
}

/** The set that a person put the cluster into. */
export function setOfObject({ metadata }: ClusterObject): string | undefined {
  return metadata.labels?.[labels.clusterSet] || undefined;
}

export interface ClusterChangeContext {
  readonly record: ClusterRecord;
  readonly object: ClusterObject;
  /** Operations that stood there before the hub was restored, and count no more. */
  readonly spent?: ReadonlySet<string> | undefined;
  readonly heartbeat: Heartbeat;
  readonly nowMs: number;
  /** How long the agent of a cluster that leaves has to clean up. */
  readonly leaveWaitMs: number;
  /** Why nobody can be put into the set that the object names. */
  readonly setProblem?: string | undefined;
}
interface Question extends SectionBase {
  readonly identity: Identity;
  readonly previous: Decision;
  readonly record: ClusterRecord;
  readonly object: ClusterObject;
  readonly spent: ReadonlySet<string> | undefined;
  readonly leaveWaitMs: number;
  readonly setProblem: string | undefined;
}
type ChangeRule = (question: Question) => EventDraft | undefined;

/** Deleting is a change only behind our finalizer: an object that is merely gone is made again (principle 6). */
const wantsToLeave: ChangeRule = ({ record, object, leaveWaitMs, ...base }) => {
  const { metadata, spec } = object;
  const isDeleted = metadata.deletionTimestamp !== undefined && metadata.finalizers?.includes(leaveFinalizer);
  if (!isDeleted || base.previous.verdict === 'leaving' || base.previous.leavingUid === metadata.uid)
    return undefined;
  // A ban ends by Unban, which takes a right of its own; deleting the object would forget it.
  if (base.previous.verdict === 'banned') return undefined;
  const person = metadata.annotations?.[annotations.leaveRequestedBy] ?? unknownPerson.person;
  const outcome = {
    by: { person },
    reason: 'Leaving',
    message: `ManagedCluster "${metadata.name}" was deleted`,
  };
  const section = {
    ...leavingSection(base, outcome, { record, waitMs: leaveWaitMs }),
    namespacePolicy: spec.namespacePolicy,
    leavingUid: metadata.uid,
  };
  return draft(leaving, record, { ...outcome, section });
};

/** False is a change for as long as it stands there: whatever lets the cluster in meanwhile is taken back. */
const accessIsWithdrawn: ChangeRule = ({ record, object, ...base }) => {
  const { approvedKey: withdrawnKey } = base.previous;
  if (object.spec.hubAcceptsClient !== false || withdrawnKey === undefined) return undefined;
  const outcome = {
    by: declaredBy(object),
    reason: accessWithdrawn,
    message: 'a person set hubAcceptsClient to false',
  };
  return draft(denied, record, {
    ...outcome,
    section: { ...allKeysTaken(base, { ...outcome, verdict: 'denied' }), withdrawnKey },
  });
};

/**
 * True gives back what false took, and nothing else: it lets in nobody whom a policy or a person denied, and no other key that
 * asked meanwhile. That one needs more than `accept`, so it is held, or stays denied.
 */
const accessIsRestored: ChangeRule = ({ record, object, ...base }) => {
  const { previous, identity, nowMs } = base;
  const { withdrawnKey: key, ...rest } = previous;
  if (object.spec.hubAcceptsClient !== true || key === undefined) return undefined;
  const outcome = {
    by: declaredBy(object),
    reason: 'AccessRestored',
    message: 'a person set hubAcceptsClient to true',
  };
  if (key === identity.request.key)
    return draft(approved, record, { ...outcome, section: approvalAfter(base, outcome) });
  const isOtherDenied = previous.verdict === 'denied' && previous.reason !== accessWithdrawn;
  const ofOther = isOtherDenied
    ? ({ verdict: 'denied', reason: previous.reason } as const)
    : ({ verdict: 'held', reason: 'KeyChanged' } as const);
  const section = {
    ...sectionAfter({ ...base, previous: { ...rest, approvedKey: key } }, { ...outcome, ...ofOther }),
    revokedKeys: previous.revokedKeys.filter((revoked) => revoked.key !== key),
    decidedAtMs: nowMs,
  };
  return draft(approved, record, { ...outcome, section });
};

/**
 * Whether the object shows the last decision. Only then what differs in it was written after that: in an older one the projector is
 * still behind.
 */
function showsLastDecision({ lastOf }: ClusterRecord, { status }: ClusterObject): boolean {
  return (
    status?.observed !== undefined &&
    lastOf.approver !== undefined &&
    !isNewer(lastOf.approver, status.observed)
  );
}

/**
 * True is an approval of the request that waits, by the person whose name is at it, if the object showed that request when it was
 * written; what stood there before says nothing about a key that nobody had seen.
 */
const waitingIsAccepted: ChangeRule = ({ record, object, ...base }) => {
  const by = declaredBy(object);
  const accepted = object.status?.conditions?.find(({ type }) => type === 'Accepted');
  const isWritten = object.spec.hubAcceptsClient === true && by !== unknownPerson;
  if (!isWritten || !waitsAsNewcomer(record) || !showsLastDecision(record, object)) return undefined;
  if (accepted?.status !== 'False' || accepted.reason === acceptNotHeard) return undefined;
  // The right to accept is of a name, and the object has the one that was judged.
  if (base.identity.clusterName !== object.metadata.name) return undefined;
  const outcome = { by, reason: 'PersonApproved', message: `${by.person} sets hubAcceptsClient to true` };
  return draft(approved, record, { ...outcome, section: approvalAfter(base, outcome) });
};

/** Labels, set, heartbeat, access, who may enter, cordon and taints as the object says; a field of the spec that is not there is no change. */
function wantedSettings(object: ClusterObject, previous: Decision) {
  const { spec } = object;
  const clusterSet = setOfObject(object);
  const memberAccess = spec.memberAccess ?? previous.memberAccess;
  return {
    labels: ownLabels(object),
    ...(memberAccess === 'Denied' ? { memberAccess } : {}),
    ...(clusterSet === undefined ? {} : { clusterSet }),
    unschedulable: spec.unschedulable ?? previous.unschedulable,
    taints: spec.taints ?? previous.taints,
    // The API server fills in the default, so what stands there is meant.
    namespacePolicy: spec.namespacePolicy,
    access: spec.access ?? previous.access,
    heartbeat: heartbeatWanted(spec.heartbeat, previous.heartbeat),
  };
}

/** What a person did to the cluster's set, in words. */
function moveText(from: string | undefined, to: string | undefined, problem: string | undefined): string {
  const where = to === undefined ? `out of set "${from}"` : `into set "${to}"`;
  const left = from === undefined || to === undefined ? '' : `, out of set "${from}"`;
  return `put the cluster ${where}${left}${problem === undefined ? '' : `: ${problem}`}`;
}

/**
 * A difference is a change only in a projection that shows our last decision. Who is in
 * stays a member while another key's request is held or denied, so the last verdict does not matter.
 */
const settingsDiffer: ChangeRule = ({ record, object, previous, setProblem }) => {
  const by = declaredBy(object);
  if (previous.approvedKey === undefined || !showsLastDecision(record, object)) return undefined;
  const wanted = wantedSettings(object, previous);
  const { clusterSet, memberAccess, ...others } = previous;
  const { labels: ofCluster, unschedulable, taints, namespacePolicy, access, heartbeat } = others;
  const { clusterSet: wantedSet, ...wantedOthers } = wanted;
  const isSame = isDeepStrictEqual(
    // What is beyond the number that we carry would differ for ever.
    { ...wantedOthers, labels: carriedLabels(wanted.labels), unschedulable },
    {
      labels: carriedLabels(ofCluster),
      ...(memberAccess === undefined ? {} : { memberAccess }),
      unschedulable,
      taints,
      namespacePolicy,
      access,
      heartbeat: { ...heartbeat },
    },
  );
  const moved = wantedSet === clusterSet ? [] : [moveText(clusterSet, wantedSet, setProblem)];
  const isCordon = wanted.unschedulable !== unschedulable;
  if (isSame && moved.length === 0 && !isCordon) return undefined;
  const [definition, reason] = isCordon
    ? wanted.unschedulable
      ? ([cordoned, 'Cordoned'] as const)
      : ([uncordoned, 'Uncordoned'] as const)
    : ([changed, isSame ? 'SetChanged' : 'SettingsChanged'] as const);
  // All in one event: what the projector shows next would undo what was left for a second one.
  const did = [
    ...(isCordon ? [`${definition.type} the cluster`] : []),
    ...(isSame ? [] : [`changed labels or settings${isCordon ? '' : ' of the cluster'}`]),
    ...moved,
  ];
  const section = { ...others, ...wanted };
  return draft(definition, record, { by, reason, message: `a person ${did.join(', and ')}`, section });
};

/** One change at a time, the strongest first; the next one is found when the object is looked at again. */
export const changeRules: readonly ChangeRule[] = [
  decideOperation,
  wantsToLeave,
  accessIsWithdrawn,
  accessIsRestored,
  waitingIsAccepted,
  settingsDiffer,
];

/** What a person wants of a cluster, by its ManagedCluster. */
export function decideClusterChange(context: ClusterChangeContext): EventDraft[] {
  const { record, object, spent, heartbeat, nowMs, leaveWaitMs, setProblem } = context;
  const { identity, decision: previous } = record;
  // Another cluster's object of the same name, or one that was decided about before: no change of this cluster.
  if (!previous || previous.clusterName !== object.metadata.name) return [];
  // Before anything else the last decision must have had its effect: its `revoked` is found by being the newest one.
  if (decideRevocation(record).length > 0) return [];
  const base = { previous, heartbeat, nowMs, record, object, spent };
  if (!identity) {
    const change = decideOperation({ ...base, identity });
    return change ? [change] : [];
  }
  for (const rule of changeRules) {
    const change = rule({ ...base, identity, leaveWaitMs, setProblem });
    if (change) return [change];
  }
  return [];
}
