import { isDeepStrictEqual } from 'node:util';
import {
  approved,
  changed,
  type ClusterRecord,
  type Decision,
  denied,
  draft,
  type EventDraft,
  type Identity,
  isNewer,
  leaving,
  predefinedId,
} from '@rollcall/shared/events';
import type { StoredObject } from '@rollcall/shared/kubernetes';
import { annotations, labels, leaveFinalizer, type ManagedCluster } from '@rollcall/shared/resources';
import { allKeysTaken, approvalAfter, type Heartbeat, type SectionBase } from './cluster-section.ts';
import { isReservedLabel } from './policy-problem.ts';
import { decideRevocation } from './settle-clusters.ts';

export type ClusterObject = StoredObject<ManagedCluster>;

/** The id of the cluster that a ManagedCluster is about. */
export function clusterIdOfObject({ metadata, spec }: ClusterObject): string | undefined {
  return predefinedId(spec) ?? metadata.labels?.[labels.clusterId];
}

/** Labels that a person may give: all but the reserved ones. */
export function ownLabels({ metadata }: ClusterObject): Record<string, string> {
  return Object.fromEntries(Object.entries(metadata.labels ?? {}).filter(([key]) => !isReservedLabel(key)));
}

export interface ClusterWishContext {
  readonly record: ClusterRecord;
  readonly object: ClusterObject;
  readonly heartbeat: Heartbeat;
  readonly nowMs: number;
}
interface Question extends SectionBase {
  readonly identity: Identity;
  readonly previous: Decision;
  readonly record: ClusterRecord;
  readonly object: ClusterObject;
}
type WishRule = (question: Question) => EventDraft | undefined;

/** A bare DELETE or patch carries no name: the API server stamps only decisions. */
const unknownPerson = { person: 'unknown' };

/** Deleting is a wish only behind our finalizer: an object that is merely gone is made again (decision 6). */
const wantsToLeave: WishRule = ({ record, object, ...base }) => {
  const { metadata, spec } = object;
  const isDeleted = metadata.deletionTimestamp !== undefined && metadata.finalizers?.includes(leaveFinalizer);
  if (!isDeleted || base.previous.verdict === 'leaving' || base.previous.leavingUid === metadata.uid)
    return undefined;
  const person = metadata.annotations?.[annotations.leaveRequestedBy] ?? unknownPerson.person;
  const outcome = {
    by: { person },
    reason: 'Leaving',
    message: `ManagedCluster "${metadata.name}" was deleted`,
  };
  const section = {
    ...allKeysTaken(base, { ...outcome, verdict: 'leaving' }),
    clusterName: base.previous.clusterName,
    namespace: base.previous.namespace,
    namespacePolicy: spec.namespacePolicy,
    leavingUid: metadata.uid,
  };
  return draft(leaving, record, { ...outcome, section });
};

/** False is a wish for as long as it stands there: whatever lets the cluster in meanwhile is taken back. */
const accessIsWithdrawn: WishRule = ({ record, object, ...base }) => {
  if (object.spec.hubAcceptsClient !== false || base.previous.approvedKey === undefined) return undefined;
  const outcome = {
    by: unknownPerson,
    reason: 'AccessWithdrawn',
    message: 'a person set hubAcceptsClient to false',
  };
  return draft(denied, record, {
    ...outcome,
    section: allKeysTaken(base, { ...outcome, verdict: 'denied' }),
  });
};

/** True gives back what false took, and nothing else: it lets in nobody whom a policy or a person denied. */
const accessIsRestored: WishRule = ({ record, object, ...base }) => {
  const { verdict, reason, key } = base.previous;
  const wasWithdrawn =
    verdict === 'denied' && reason === 'AccessWithdrawn' && key === base.identity.request.key;
  if (object.spec.hubAcceptsClient !== true || !wasWithdrawn) return undefined;
  const outcome = {
    by: unknownPerson,
    reason: 'AccessRestored',
    message: 'a person set hubAcceptsClient to true',
  };
  return draft(approved, record, { ...outcome, section: approvalAfter(base, outcome) });
};

/** Labels, heartbeat, cordon and taints as the object says; a field that is not there is no wish. */
export function wantedSettings(object: ClusterObject, previous: Decision) {
  const { spec } = object;
  return {
    labels: ownLabels(object),
    unschedulable: spec.unschedulable ?? previous.unschedulable,
    taints: spec.taints ?? previous.taints,
    heartbeat: {
      intervalSeconds: spec.heartbeat?.intervalSeconds ?? previous.heartbeat.intervalSeconds,
      graceSeconds: spec.heartbeat?.graceSeconds ?? previous.heartbeat.graceSeconds,
    },
  };
}

/** A difference is a wish only in a picture that shows our last decision; in an older one the projector is still behind. */
const settingsDiffer: WishRule = ({ record, object, previous }) => {
  const shown = object.status?.observed;
  const last = record.lastOf.approver;
  if (previous.verdict !== 'approved' || !shown || !last || isNewer(last, shown)) return undefined;
  const wanted = wantedSettings(object, previous);
  const { labels: ofCluster, unschedulable, taints, heartbeat } = previous;
  if (
    isDeepStrictEqual(wanted, {
      labels: { ...ofCluster },
      unschedulable,
      taints,
      heartbeat: { ...heartbeat },
    })
  )
    return undefined;
  const outcome = {
    by: unknownPerson,
    reason: 'SettingsChanged',
    message: 'a person changed labels or settings of the cluster',
  };
  return draft(changed, record, { ...outcome, section: { ...previous, ...wanted } });
};

/** One wish at a time, the strongest first; the next one is found when the object is looked at again. */
export const wishes: readonly WishRule[] = [
  wantsToLeave,
  accessIsWithdrawn,
  accessIsRestored,
  settingsDiffer,
];

/** What a person wants of a cluster, by its ManagedCluster. */
export function decideClusterWish({ record, object, heartbeat, nowMs }: ClusterWishContext): EventDraft[] {
  const { identity, decision: previous } = record;
  // Another cluster's object of the same name, or one that was decided about before: no wish about this cluster.
  if (!identity || !previous || previous.clusterName !== object.metadata.name) return [];
  // Before anything else the last decision must have had its effect: its `revoked` is found by being the newest one.
  if (decideRevocation(record).length > 0) return [];
  for (const rule of wishes) {
    const wish = rule({ identity, previous, heartbeat, nowMs, record, object });
    if (wish) return [wish];
  }
  return [];
}
