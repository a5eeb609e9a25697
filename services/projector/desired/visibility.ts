import { isDeepStrictEqual } from 'node:util';
import type { ClusterRecord, Decision } from '@rollcall/shared/events';
import type { StoredObject } from '@rollcall/shared/kubernetes';
import {
  annotations,
  type ClusterRegistrationRequest,
  labels,
  type ManagedCluster,
} from '@rollcall/shared/resources';
import { nodeLabelPrefix } from '@rollcall/shared/resources/node-labels';
import { currentDecision, registrationPhaseOf } from './registration-phase.ts';
import {
  type ClusterFacts,
  type ClusterShape,
  type ClusterStatus,
  desiredCluster,
} from './desired-cluster.ts';

/** Where only exceptions are shown (ADR 18): nobody needs the projection, or nobody will from that time on. */
export type Visibility = 'unneeded' | { readonly untilMs: number };

/** The projection of a cluster as it stands in Kubernetes. */
export interface ShownProjection {
  readonly cluster: StoredObject<ManagedCluster> | undefined;
  readonly request: StoredObject<ClusterRegistrationRequest> | undefined;
}

/** Of these Unknown is nothing that a person could act on. */
const mustNotBeFalse = new Set(['Accepted', 'Joined', 'MemberHealthy', 'CredentialsValid', 'ClockSynced']);

function isHealthy({ conditions = [] }: ClusterStatus): boolean {
  return conditions.every(({ type, status }) => {
    if (type === 'Ready') return status === 'True';
    if (type === 'Deleting') return status !== 'True';
    return !mustNotBeFalse.has(type) || status !== 'False';
  });
}

/** Whether it has in Kubernetes what it is to have; a namespace of its own only where every cluster gets one. */
function hasItsAccess({ decision, access }: ClusterRecord): boolean {
  if (access?.state === 'provisioned') return true;
  return decision?.access !== 'Namespace' && access?.state !== 'failed';
}

/** Whether nobody has to see the cluster: in by its newest request, Ready, and nothing of it waits for a person or was laid down by one. */
function isWell(record: ClusterRecord, status: ClusterStatus): boolean {
  const { decision } = record;
  if (!decision || decision.predefined !== undefined || decision.unschedulable) return false;
  const isIn = registrationPhaseOf(record) === 'accepted' && currentDecision(record)?.verdict === 'approved';
  return isIn && hasItsAccess(record) && isHealthy(status);
}

/** Fields of the spec that the approver has read when they are as the decision has them; a field that is not there is no change. */
function readSettings(decision: Decision): Partial<ManagedCluster['spec']> {
  const { namespacePolicy, unschedulable, access, heartbeat } = decision;
  // They came from an object that the API server had checked.
  const taints = decision.taints as NonNullable<ManagedCluster['spec']['taints']>;
  return { namespacePolicy, unschedulable, access, heartbeat, taints };
}

/**
 * Whether the object says nothing that the hub has not read: no deletion, no operation, no setting and no label of a person that
 * stands in no event yet. Only then nothing is lost when it is taken away.
 */
function saysNothingNew(
  { decision }: ClusterRecord,
  shape: ClusterShape,
  { metadata, spec }: StoredObject<ManagedCluster>,
): boolean {
  if (!decision || metadata.deletionTimestamp !== undefined) return false;
  const { operation, hubAcceptsClient, clientConfigs, kubeconfigSecret, ...rest } = spec;
  if (operation !== undefined && !decision.operations?.includes(operation.id)) return false;
  if (hubAcceptsClient === false || clientConfigs !== undefined || kubeconfigSecret !== undefined)
    return false;
  const read: Partial<ManagedCluster['spec']> = { ...shape.spec, ...readSettings(decision) };
  const isRead = ([field, value]: [string, unknown]) =>
    isDeepStrictEqual(value, read[field as keyof ManagedCluster['spec']]);
  return (
    Object.entries(rest).every(isRead) && isDeepStrictEqual(ownLabelsOf(metadata.labels), { ...shape.labels })
  );
}

/** What nodes share nobody but the agent says, and it may change at any time. */
function ownLabelsOf(shown: Readonly<Record<string, string>> = {}): Record<string, string> {
  return Object.fromEntries(Object.entries(shown).filter(([key]) => !key.startsWith(nodeLabelPrefix)));
}

/** Until when a person wants to see the object; what is no time is no end. */
function wantedUntilMs({ metadata }: StoredObject<ManagedCluster>): number {
  const until = metadata.annotations?.[annotations.showUntil];
  if (until === undefined) return 0;
  const atMs = Date.parse(until);
  return Number.isNaN(atMs) ? Number.POSITIVE_INFINITY : atMs;
}

/** What a person decided by this object stands on it, so that one stays. */
export function mayRequestGo({ spec, metadata }: StoredObject<ClusterRegistrationRequest>): boolean {
  return spec.decision === undefined && metadata.deletionTimestamp === undefined;
}

/**
 * How long a cluster has to be seen where only exceptions are shown.
 * @param when.calmForMs - how long it stays after the last that happened to it
 * @returns undefined: until something happens to it
 */
export function judgeVisibility(
  record: ClusterRecord,
  facts: ClusterFacts | undefined,
  cluster: ShownProjection['cluster'],
  when: { readonly nowMs: number; readonly calmForMs: number },
): Visibility | undefined {
  const wanted = desiredCluster(record, facts, cluster);
  if (wanted.presence !== 'present' || !isWell(record, wanted.status)) return undefined;
  if (!cluster) return 'unneeded';
  if (!saysNothingNew(record, wanted.shape, cluster)) return undefined;
  const untilMs = Math.max((record.newest?.timeMs ?? 0) + when.calmForMs, wantedUntilMs(cluster));
  return when.nowMs >= untilMs ? 'unneeded' : { untilMs };
}

/**
 * Whether a person made the object of a cluster that the hub knows, to see it or not knowing of it: it is filled in as if we had
 * made it, as what the API server put in for what is not said would read as changes. Who was laid down beforehand is that object.
 */
export function isMadeOfKnown(
  { decision }: ClusterRecord,
  { metadata, status }: StoredObject<ManagedCluster>,
): boolean {
  return (
    decision !== undefined &&
    decision.predefined === undefined &&
    metadata.labels?.[labels.createdBy] === undefined &&
    status?.observed === undefined
  );
}
