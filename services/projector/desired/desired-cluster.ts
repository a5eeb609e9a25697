import type { Facts } from '@rollcall/shared/bus';
import type { Cause, ClusterRecord, Decision } from '@rollcall/shared/events';
import {
  currentIdentity,
  idMismatch,
  isNewer,
  isPredefinedUnbound,
  type JoinRequest,
  type Liveness,
  livenessOf,
  waitsAsNewcomer,
} from '@rollcall/shared/events';
import { keyFingerprint } from '@rollcall/shared/trust';
import {
  annotations,
  type ClusterRegistrationRequest,
  leaveFinalizer,
  type ManagedCluster,
} from '@rollcall/shared/resources';
import { acceptNotHeard, asReason } from '@rollcall/shared/resources/condition-reason';
import { cutText } from '@rollcall/shared/text';
import { judgeConditions } from './conditions/cluster-conditions.ts';
import { clusterLabels, nodeLabels } from './cluster-labels.ts';
import { hasLeft, isHidden, wasLetIn } from './registration-phase.ts';
import { conditionList } from './condition-list.ts';
import { hubTime } from './hub-time.ts';
import { factFields, shownFacts } from './shown-facts.ts';
import type { Wanted } from './object-presence.ts';

export interface ClusterFacts {
  readonly facts: Facts;
  readonly sequence: number;
  readonly epoch: number;
}

/** Metadata and spec as far as they are ours; decision, operation and hubAcceptsClient belong to people. */
export interface ClusterShape {
  readonly labels: Readonly<Record<string, string>>;
  /** Of the prefix for them; undefined: those that are there stay. */
  readonly nodeLabels: Readonly<Record<string, string>> | undefined;
  readonly finalizers: readonly string[];
  readonly spec: Readonly<Pick<ManagedCluster['spec'], 'clusterId' | 'clientId' | 'clusterType' | 'mode'>>;
  /**
   * What people have set, as the approver keeps it: written only when the object is made, because afterwards the object says what
   * they want. Of an object that is made again it would else read as if they wanted the defaults.
   */
  readonly settings: Readonly<
    Pick<ManagedCluster['spec'], 'namespacePolicy'> &
      Partial<Pick<ManagedCluster['spec'], 'unschedulable' | 'taints'>>
  >;
}
export type ClusterStatus = NonNullable<ManagedCluster['status']>;

/** Who caused a decision, in one word for people. */
function causeText(by: Cause): string {
  if (by.person !== undefined) return by.person;
  return by.policy === undefined ? `service:${by.service ?? 'approver'}` : `policy:${by.policy}`;
}

function shownDecision(decision: Decision): ClusterStatus['decision'] {
  const { by } = decision;
  return {
    by: cutText(causeText(by), 512),
    ...(by.policy === undefined ? {} : { policy: by.policy.slice(0, 253) }),
    ...(by.rule === undefined ? {} : { rule: by.rule.slice(0, 63) }),
    reason: asReason(decision.reason, 'Decided'),
    at: hubTime(decision.decidedAtMs),
  };
}

function fingerprintOf(key: string, request: JoinRequest | undefined): string {
  return request?.key === key ? request.keyFingerprint : keyFingerprint(key);
}

/** Its object alone says what the cluster is: nobody has asked as it. */
function isBeforeClaim(record: ClusterRecord): boolean {
  return isPredefinedUnbound(record.decision) && currentIdentity(record) === undefined;
}

/** Of a server that is behind, or of a stream of facts that was made anew. */
function isOlderThanShown(facts: ClusterFacts, current: ManagedCluster | undefined): boolean {
  const shown = current?.status?.observedFacts;
  return shown !== undefined && isNewer(shown, facts);
}

/** The API server refuses a whole status for older facts, and with it who is alive: then those that are shown stay. */
function factsThatStay(
  facts: ClusterFacts | undefined,
  current: ManagedCluster | undefined,
): Partial<ClusterStatus> | undefined {
  if (!facts || !isOlderThanShown(facts, current)) return undefined;
  const shown = factFields.map((field) => [field, current?.status?.[field]] as const);
  return Object.fromEntries(shown.filter(([, value]) => value !== undefined));
}

/** Who is heard is written down when that begins; a key that is taken back ends it. */
function lastHeardAtMs({ decision }: ClusterRecord, liveness: Liveness): number {
  const { key, state, lastHeartbeatAtMs } = liveness;
  const taken = decision?.revokedKeys.find((revoked) => revoked.key === key);
  return state === 'ready' && taken ? Math.max(taken.atMs, lastHeartbeatAtMs) : lastHeartbeatAtMs;
}

/**
 * Whether the `hubAcceptsClient: true` in the object says nothing about the request that waits: it stood there before the object
 * showed it, or nobody's name is at it. That stays so until it is taken away.
 */
function isAcceptVoid(record: ClusterRecord, current: ManagedCluster | undefined): boolean {
  if (current?.spec.hubAcceptsClient !== true || !waitsAsNewcomer(record)) return false;
  const shown = current.status?.conditions?.find(({ type }) => type === 'Accepted');
  const isNamed = (current.metadata.annotations?.[annotations.changedBy] ?? '') !== '';
  // A request that was called off for a moment, without a new decision, was not shown as waiting.
  const isHeard = shown?.status === 'False' && shown.reason !== acceptNotHeard;
  return !isNamed || isDecisionUnshown(record, current) || !isHeard;
}

function clusterStatus(
  record: ClusterRecord,
  facts: ClusterFacts | undefined,
  current: ManagedCluster | undefined,
): ClusterStatus {
  const { identity, decision, head } = record;
  const liveness = livenessOf(record);
  const judged = judgeConditions({
    record,
    facts: facts?.facts,
    isDeletionAsked: current?.metadata.deletionTimestamp !== undefined,
    obstacle: current && isBeforeClaim(record) ? idMismatch(current.spec) : undefined,
    isAcceptVoid: isAcceptVoid(record, current),
  });
  // While another key asks, this is still the one that is in.
  const known = decision?.approvedKey ?? identity?.admittedKey;
  const isReady = judged.some(({ type, status }) => type === 'Ready' && status === 'True');
  return {
    ...(decision ? { namespace: decision.namespace } : {}),
    // A new object has generation 1.
    conditions: conditionList(judged, current?.status?.conditions ?? [], current?.metadata.generation ?? 1),
    ...(liveness
      ? { liveness: liveness.state, lastSeen: isReady ? 'live' : hubTime(lastHeardAtMs(record, liveness)) }
      : {}),
    ...(identity
      ? (factsThatStay(facts, current) ?? shownFacts(facts?.facts, identity.request.claimed))
      : {}),
    ...(known === undefined ? {} : { keyFingerprint: fingerprintOf(known, identity?.request) }),
    ...(decision ? { decision: shownDecision(decision) } : {}),
    ...(head ? { observed: { epoch: head.epoch, sequence: head.sequence, digest: head.digest } } : {}),
    ...(facts && !isOlderThanShown(facts, current)
      ? { observedFacts: { epoch: facts.epoch, sequence: facts.sequence } }
      : {}),
  };
}

/** What kind of cluster it is: by the request that is open or was let in, else as a person laid it down beforehand. */
function specOf(
  record: ClusterRecord,
  current: ManagedCluster | undefined,
): Omit<ClusterShape['spec'], 'clusterId'> {
  const { identity, decision } = record;
  const known = currentIdentity(record) ?? decision?.predefined ?? identity ?? current?.spec;
  const { clientId, clusterType, mode } = known ?? {};
  return {
    ...(clientId === undefined ? {} : { clientId: cutText(clientId, 253) }),
    clusterType: clusterType ?? 'Standard',
    mode: mode ?? 'Pull',
  };
}

function settingsOf({ namespacePolicy, unschedulable, taints }: Decision): ClusterShape['settings'] {
  return {
    namespacePolicy,
    ...(unschedulable ? { unschedulable } : {}),
    // They came from an object that the API server had checked.
    ...(taints.length > 0 ? { taints: taints as NonNullable<ManagedCluster['spec']['taints']> } : {}),
  };
}

/**
 * The ManagedCluster that a record asks for: from the first approval on, as soon as a request waits for a decision, or a person
 * made it beforehand, until the cluster has left.
 * @param current - what the API server has under that name, for transition times and generation
 */
export function desiredCluster(
  record: ClusterRecord,
  facts: ClusterFacts | undefined,
  current: ManagedCluster | undefined,
): Wanted<ClusterShape, ClusterStatus> {
  const { identity, decision } = record;
  const clusterId = record.aggregate.id;
  const name = decision?.clusterName ?? identity?.clusterName;
  if (name === undefined || isHidden(record)) return { presence: 'unmentioned' };
  if (hasLeft(record)) return { presence: 'gone', name };
  // A ban that was taken over by a restore may be all that is known: it is about no request.
  const isKnown = identity !== undefined || decision?.requestId === undefined;
  const isShown = isKnown && current?.spec.clusterId === clusterId;
  if (!decision || !(isShown || isPredefinedUnbound(decision) || wasLetIn(record) || waitsAsNewcomer(record)))
    return { presence: 'unmentioned' };
  return {
    presence: 'present',
    name,
    shape: {
      labels: clusterLabels({
        clusterId,
        clusterName: name,
        given: decision.labels,
        clusterSet: decision.clusterSet,
        isPredefined: decision.predefined !== undefined,
        isHosted: decision.predefined?.kubeconfig !== undefined,
      }),
      nodeLabels: nodeLabels(facts?.facts),
      finalizers: [leaveFinalizer],
      spec: { clusterId, ...specOf(record, current) },
      settings: settingsOf(decision),
    },
    status: clusterStatus(record, facts, current),
  };
}

/**
 * Whether the decision is newer than what the object shows. Only then labels and spec are written over: a person may just
 * have changed them with kubectl, and the approver has not read it yet.
 */
export function isDecisionUnshown(
  record: ClusterRecord,
  current: Pick<ManagedCluster | ClusterRegistrationRequest, 'status'>,
): boolean {
  const decided = record.lastOf.approver;
  const shown = current.status?.observed;
  return shown === undefined || (decided !== undefined && isNewer(decided, shown));
}
