import type { Facts } from '@rollcall/shared/bus';
import {
  type Cause,
  type ClusterRecord,
  clusterRecord,
  foldRecord,
  type StoredEvent,
} from '@rollcall/shared/events';
import type { ClusterRegistrationRequest, ManagedCluster } from '@rollcall/shared/resources';
import { keyFingerprint } from '@rollcall/shared/trust';

/** What the two sides of a hub gave; each may be away, or closed to this person. */
export interface ClusterSources {
  readonly clusterId: string;
  readonly cluster: ManagedCluster | undefined;
  readonly request: ClusterRegistrationRequest | undefined;
  readonly events: readonly StoredEvent[];
  readonly facts: Facts | undefined;
  /** Why a side could not be read. */
  readonly missing: readonly { readonly source: 'kubernetes' | 'history'; readonly why: string }[];
}

interface TimelineEntry {
  readonly at: string;
  readonly type: string;
  readonly by: Cause | undefined;
  readonly reason: string;
  readonly message: string;
}

/** Everything that a person asks about a cluster, in the order in which they ask. */
export interface ClusterDescription {
  readonly clusterId: string;
  readonly clusterName: string;
  readonly clientId: string | undefined;
  readonly standing: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly request:
    | {
        readonly id: string;
        readonly at: string;
        readonly token: string;
        readonly keyFingerprint: string;
        readonly droppedLabels: readonly string[];
        readonly refusal: { readonly code: string; readonly message: string } | undefined;
      }
    | undefined;
  readonly decision:
    | {
        readonly verdict: string;
        readonly by: Cause;
        readonly reason: string;
        readonly message: string;
        readonly at: string;
        readonly isAboutThisRequest: boolean;
      }
    | undefined;
  readonly credentials: {
    readonly keyFingerprint: string | undefined;
    readonly admittedAt: string | undefined;
    readonly revoked: readonly { readonly keyFingerprint: string; readonly at: string }[];
  };
  readonly namespace:
    | { readonly name: string; readonly state: string; readonly access: string; readonly problem?: string }
    | undefined;
  readonly liveness:
    | {
        readonly state: string;
        readonly cause: string;
        readonly joinedAt: string;
        readonly since: string;
        readonly lastBeat: string;
      }
    | undefined;
  readonly schedulable: boolean;
  readonly clusterSet: string | undefined;
  readonly facts: Facts | undefined;
  readonly conditions: NonNullable<NonNullable<ManagedCluster['status']>['conditions']>;
  readonly timeline: readonly TimelineEntry[];
  readonly missing: ClusterSources['missing'];
}

const time = (atMs: number) => new Date(atMs).toISOString();

function standing({ identity, decision, liveness }: ClusterRecord): string {
  if (identity?.state === 'left') return 'left';
  if (identity?.state === 'refused') return 'refused';
  if (!decision) return identity ? 'waiting' : 'unknown';
  if (identity && decision.requestId !== identity.request.id && decision.verdict !== 'leaving')
    return 'waiting';
  if (decision.verdict !== 'approved') return decision.verdict;
  return liveness && liveness.key === identity?.admittedKey ? liveness.state : 'approved';
}

function requestOf({ identity }: ClusterRecord): ClusterDescription['request'] {
  if (!identity) return undefined;
  const { request, refusal } = identity;
  return {
    id: request.id,
    at: time(request.requestedAtMs),
    token: request.tokenName,
    keyFingerprint: request.keyFingerprint,
    droppedLabels: request.droppedLabels,
    refusal: identity.state === 'refused' ? refusal : undefined,
  };
}

function decisionOf({ identity, decision }: ClusterRecord): ClusterDescription['decision'] {
  if (!decision) return undefined;
  const { verdict, by, reason, message, decidedAtMs } = decision;
  const isAboutThisRequest = identity === undefined || decision.requestId === identity.request.id;
  return { verdict, by, reason, message, at: time(decidedAtMs), isAboutThisRequest };
}

function credentialsOf({ identity, decision }: ClusterRecord): ClusterDescription['credentials'] {
  const { admittedKey, admittedAtMs } = identity ?? {};
  return {
    keyFingerprint: admittedKey === undefined ? undefined : keyFingerprint(admittedKey),
    admittedAt: admittedAtMs === undefined ? undefined : time(admittedAtMs),
    revoked: (decision?.revokedKeys ?? []).map(({ key, atMs }) => ({
      keyFingerprint: keyFingerprint(key),
      at: time(atMs),
    })),
  };
}

function namespaceOf({ access, decision }: ClusterRecord): ClusterDescription['namespace'] {
  const name = access?.namespace ?? decision?.namespace;
  if (name === undefined) return undefined;
  const { code, message } = access?.error ?? {};
  return {
    name,
    state: access?.state ?? 'not made yet',
    access: decision?.access ?? 'None',
    ...(code === undefined ? {} : { problem: `${code}: ${message}` }),
  };
}

/** Puts together what both sides know. Pure. */
export function describeSources(sources: ClusterSources): ClusterDescription {
  const { clusterId, cluster, request, events, facts, missing } = sources;
  const record = clusterRecord(foldRecord({ kind: 'cluster', id: clusterId }, events));
  const { identity, decision, liveness } = record;
  const shownStanding =
    record.newest === undefined ? (request?.status?.result?.toLowerCase() ?? 'unknown') : standing(record);
  return {
    clusterId,
    clusterName:
      decision?.clusterName ??
      identity?.clusterName ??
      cluster?.metadata.name ??
      request?.spec?.clusterName ??
      clusterId,
    clientId: identity?.clientId ?? cluster?.spec?.clientId,
    standing: shownStanding,
    labels: decision?.labels ?? {},
    request: requestOf(record),
    decision: decisionOf(record),
    credentials: credentialsOf(record),
    namespace: namespaceOf(record),
    liveness: liveness && {
      state: liveness.state,
      cause: liveness.cause,
      joinedAt: time(liveness.joinedAtMs),
      since: time(liveness.sinceMs),
      lastBeat: time(liveness.lastBeatAtMs),
    },
    schedulable: !(cluster?.spec?.unschedulable ?? decision?.unschedulable ?? false),
    clusterSet: decision?.clusterSet,
    facts,
    conditions: cluster?.status?.conditions ?? [],
    timeline: events.map(({ timeMs, type, by, reason, message }) => ({
      at: time(timeMs),
      type,
      by,
      reason,
      message,
    })),
    missing,
  };
}
