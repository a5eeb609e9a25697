import type { Facts } from '@rollcall/shared/bus';
import {
  type Cause,
  type ClusterRecord,
  clusterRecord,
  foldRecord,
  livenessOf,
  livenessStateOf,
  type StoredEvent,
} from '@rollcall/shared/events';
import type { ClusterDescription as ShownDescription } from '@rollcall/shared/fleet/cluster-description';
import type { ClusterRegistrationRequest, ManagedCluster } from '@rollcall/shared/resources';
import { keyFingerprint } from '@rollcall/shared/trust';

/** What the two sides of a hub gave; each may be away, or closed to this person. */
export interface ClusterSources {
  readonly clusterId: string;
  readonly cluster: ManagedCluster | undefined;
  readonly request: ClusterRegistrationRequest | undefined;
  readonly events: readonly StoredEvent[];
  readonly facts: Facts | undefined;
  /** Of a cluster that a person predefined: refused requests of other ids for its name. */
  readonly attempts: readonly ClusterRegistrationRequest[];
  /** Why a side could not be read. */
  readonly missing: readonly { readonly source: 'kubernetes' | 'history'; readonly why: string }[];
}

export type ClusterDescription = ShownDescription<Cause, Facts>;

const time = (atMs: number) => new Date(atMs).toISOString();

function phaseOf(record: ClusterRecord): string {
  const { identity, decision } = record;
  if (identity?.state === 'left') return 'left';
  // A refused attempt takes nothing from what a person predefined.
  if (decision?.verdict === 'predefined' && identity?.state !== 'requested') return 'predefined';
  if (identity?.state === 'refused') return 'refused';
  if (!decision) return identity ? 'waiting' : 'unknown';
  if (identity && decision.requestId !== identity.request.id && decision.verdict !== 'leaving')
    return 'waiting';
  // A denied other key takes nothing from the member.
  const isOtherDenied = decision.verdict === 'denied' && decision.approvedKey !== undefined;
  if (decision.verdict !== 'approved' && !isOtherDenied) return decision.verdict;
  const live = livenessOf(record);
  return live ? livenessStateOf(live) : 'approved';
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
  const isAboutThisRequest =
    identity === undefined || verdict === 'predefined' || decision.requestId === identity.request.id;
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

/** What the cluster may have on the hub's API server, and since when its agent has it. */
function accessText({ access, decision }: Pick<ClusterRecord, 'access' | 'decision'>): string {
  const may = decision?.access ?? 'None';
  if (may === 'None') return may;
  const { tokens } = access ?? {};
  return tokens === undefined ? `${may}, not asked for yet` : `${may}, given since ${time(tokens.sinceMs)}`;
}

function namespaceOf({ access, decision }: ClusterRecord): ClusterDescription['namespace'] {
  const name = access?.namespace ?? decision?.namespace;
  if (name === undefined) return undefined;
  const { code, message } = access?.error ?? {};
  return {
    name,
    state: access?.state ?? 'not made yet',
    access: accessText({ access, decision }),
    ...(code === undefined ? {} : { problem: `${code}: ${message}` }),
  };
}

/** An object that a person made for an id which another cluster has: the history of that id is not its own. */
function isInVain({ cluster, clusterId, events }: ClusterSources): boolean {
  const { decision } = clusterRecord(foldRecord({ kind: 'cluster', id: clusterId }, events));
  return cluster !== undefined && decision !== undefined && decision.clusterName !== cluster.metadata.name;
}

/** A request is shown as denied also where the cluster is out for another cause, which takes another way back. */
const outBy: Readonly<Record<string, string>> = {
  PersonBanned: 'banned',
  Banned: 'banned',
  PersonRevoked: 'revoked',
  Revoked: 'revoked',
  Unbanned: 'revoked',
  Flooding: 'revoked',
};

/** @returns undefined where it is not out, or was never in */
function shownAsOut({ cluster, request }: ClusterSources): string | undefined {
  const accepted = cluster?.status?.conditions?.find(({ type }) => type === 'Accepted');
  const isOut = request?.status?.result === 'Denied' || accepted?.status === 'False';
  if (!isOut) return undefined;
  const known = [request?.status?.reason, accepted?.reason].map((reason) => outBy[reason ?? '']);
  const found = known.find((one) => one !== undefined);
  // After a restore the reason is that, and what the person wanted still stands there.
  return found ?? (cluster?.spec?.operation?.verb === 'Ban' ? 'banned' : undefined);
}

const states: Readonly<Record<string, string>> = { True: 'ready', False: 'unreachable', Unknown: 'suspect' };

/** What its objects say, where the history cannot be read. */
function shownByKubernetes(sources: ClusterSources): string {
  const { cluster, request } = sources;
  const ready = cluster?.status?.conditions?.find(({ type }) => type === 'Ready');
  const result = shownAsOut(sources) ?? request?.status?.result?.toLowerCase();
  if (ready && ready.reason !== 'NeverSeen' && (result === undefined || result === 'approved'))
    return states[ready.status] ?? 'unknown';
  return result ?? 'unknown';
}

/** Puts together what both sides know. Pure. */
export function describeSources(sources: ClusterSources): ClusterDescription {
  const { clusterId, cluster, request, facts, attempts, missing } = sources;
  const inVain = isInVain(sources);
  const events = inVain ? [] : sources.events;
  const record = clusterRecord(foldRecord({ kind: 'cluster', id: clusterId }, events));
  const { identity, decision, liveness } = record;
  const shownPhase = inVain
    ? 'without effect'
    : record.newest === undefined
      ? shownByKubernetes(sources)
      : phaseOf(record);
  return {
    clusterId,
    clusterName:
      decision?.clusterName ??
      identity?.clusterName ??
      cluster?.metadata.name ??
      request?.spec?.clusterName ??
      clusterId,
    clientId: identity?.clientId ?? (decision?.predefined ?? cluster?.spec)?.clientId,
    phase: shownPhase,
    labels: decision?.labels ?? {},
    request: requestOf(record),
    decision: decisionOf(record),
    credentials: credentialsOf(record),
    namespace: namespaceOf(record),
    liveness: liveness && {
      state: livenessStateOf(liveness),
      cause: liveness.cause,
      joinedAt: time(liveness.joinedAtMs),
      since: time(liveness.sinceMs),
      lastHeartbeat: time(liveness.lastHeartbeatAtMs),
    },
    schedulable: !(cluster?.spec?.unschedulable ?? decision?.unschedulable ?? false),
    clusterSet: decision?.clusterSet,
    facts: inVain ? undefined : facts,
    conditions: cluster?.status?.conditions ?? [],
    timeline: events.map(({ sequence, timeMs, type, by, reason, message }) => ({
      sequence,
      at: time(timeMs),
      type,
      by,
      reason,
      message,
    })),
    attempts: attempts.map(({ metadata, status }) => ({
      clusterId: metadata.name,
      reason: status?.reason ?? '',
      message: status?.message ?? '',
    })),
    missing,
    shown: request?.status && {
      reason: request.status.reason ?? '',
      message: request.status.message ?? '',
    },
  };
}
