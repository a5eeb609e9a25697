import { type Cause, type Decision, type Identity, isPredefinedUnbound } from '@rollcall/shared/events';
import type { ManagedCluster } from '@rollcall/shared/resources';

/** Settings of the hub that a cluster gets where nobody asked for others. */
export type Heartbeat = Decision['heartbeat'];

/** Lost heartbeats that a cluster may have before it counts as silent, where a person gave only the interval or only the grace. */
const heartbeatsOfGrace = 3;

/**
 * How a cluster is to send heartbeats, by what a person wrote into its spec.
 * @param before - fills in what is not written; adapted where it does not fit the written half, as a grace shorter than the
 * interval would call every cluster dead between two heartbeats
 */
export function heartbeatWanted(
  wanted: ManagedCluster['spec']['heartbeat'],
  before: Heartbeat,
): { intervalSeconds: number; graceSeconds: number } {
  const { intervalSeconds, graceSeconds } = wanted ?? {};
  if (intervalSeconds !== undefined && graceSeconds === undefined)
    return {
      intervalSeconds,
      graceSeconds: Math.max(before.graceSeconds, heartbeatsOfGrace * intervalSeconds),
    };
  if (graceSeconds !== undefined && intervalSeconds === undefined) {
    const fitting = Math.max(1, Math.floor(graceSeconds / heartbeatsOfGrace));
    return { intervalSeconds: Math.min(before.intervalSeconds, fitting), graceSeconds };
  }
  return {
    intervalSeconds: intervalSeconds ?? before.intervalSeconds,
    graceSeconds: graceSeconds ?? before.graceSeconds,
  };
}

/** What every decision about a cluster starts from. */
export interface SectionBase {
  readonly identity: Identity;
  readonly previous: Decision | undefined;
  readonly heartbeat: Heartbeat;
  readonly nowMs: number;
}

/** Reason of the denial that follows from `hubAcceptsClient: false`. */
export const accessWithdrawn = 'AccessWithdrawn';

export interface Outcome {
  readonly verdict: Decision['verdict'];
  readonly by: Cause;
  /** CamelCase. */
  readonly reason: string;
  readonly message: string;
}

/** Whether the last verdict is about the request that stands in the record now; else it is an old one. */
export function isAboutRequest(previous: Decision | undefined, identity: Identity): previous is Decision {
  return previous?.requestId === identity.request.id && previous.key === identity.request.key;
}

/** Longer than any credential lives: a key that was taken back before then opens nothing, listed or not. */
const listedMs = 7 * 86_400_000;
/** Of former registrations, and as many of this one. */
const mostOlder = 64;

/**
 * Of keys that were taken back long ago the last stay: or the list would outgrow a message, and nothing could be decided about that
 * cluster any more. Whoever comes with one that was forgotten is a stranger like any other.
 */
function stillListed(revokedKeys: Decision['revokedKeys'], nowMs: number): Decision['revokedKeys'] {
  const isOld = ({ atMs }: Decision['revokedKeys'][number]) => atMs + listedMs <= nowMs;
  const [ofFormerRegistrations, ofThisRegistration] = [true, false].map((isLeft) =>
    revokedKeys.filter((revoked) => isOld(revoked) && (revoked.left ?? false) === isLeft).slice(-mostOlder),
  );
  const stay = new Set([...(ofFormerRegistrations ?? []), ...(ofThisRegistration ?? [])]);
  return revokedKeys.filter((revoked) => !isOld(revoked) || stay.has(revoked));
}

/** Takes keys back: those that are taken back already keep their time, and are not only taken by their agent any more. */
export function withRevoked(
  before: Decision['revokedKeys'],
  keys: readonly (string | undefined)[],
  atMs: number,
): Decision['revokedKeys'] {
  const added = new Set(
    keys.filter((key) => key !== undefined && !before.some((known) => known.key === key)),
  );
  const known = before.map((revoked) => {
    if (!keys.includes(revoked.key)) return revoked;
    const { rotated: _rotated, byAgent: _byAgent, ...firm } = revoked;
    return firm;
  });
  return stillListed([...known, ...[...added].map((key) => ({ key: key as string, atMs }))], atMs);
}

/**
 * Takes keys back of which nobody but their own agent wants it: whoever has a token can have that as often as it is used, and must
 * not push out what somebody took back. What was taken back before stays as it is.
 */
export function withTakenByAgent(
  before: Decision['revokedKeys'],
  keys: readonly (string | undefined)[],
  atMs: number,
): Decision['revokedKeys'] {
  const added = new Set(
    keys.filter((key) => key !== undefined && !before.some((known) => known.key === key)),
  );
  const taken = [...added].map((key) => ({ key: key as string, atMs, byAgent: true }));
  return stillListed([...before, ...taken], atMs);
}

/** Takes the keys of a cluster back that is out: those that its agent replaced while it was in are as much out as the others. */
export function withAllRevoked(
  before: Decision['revokedKeys'],
  keys: readonly (string | undefined)[],
  atMs: number,
): Decision['revokedKeys'] {
  return withRevoked(before, [...before.map(({ key }) => key), ...keys], atMs);
}

/** A key that its agent replaced is out; what was taken back before stays as it is. */
export function withRotated(
  before: Decision['revokedKeys'],
  key: string,
  atMs: number,
): Decision['revokedKeys'] {
  if (before.some((known) => known.key === key)) return before;
  return stillListed([...before, { key, atMs, rotated: true }], atMs);
}

/**
 * The key that hubAcceptsClient took and may give back: until one is let in, the cluster is banned or leaves, or somebody decides
 * about that key in another way.
 */
function withdrawnKeyAfter({ identity, previous }: SectionBase, outcome: Outcome): string | undefined {
  const key = previous?.withdrawnKey;
  const isDeniedAgain = outcome.verdict === 'denied' && outcome.reason === accessWithdrawn;
  const isOfAnother = outcome.verdict === 'denied' && identity.request.key !== key;
  return outcome.verdict === 'held' || isDeniedAgain || isOfAnother ? key : undefined;
}

/**
 * The approver's whole section after a decision about the current request. What the cluster was given stays while it is let
 * in or the request is the same; the keys that were taken back, and what was acted on, stay in any case.
 */
export function sectionAfter(base: SectionBase, outcome: Outcome): Decision {
  const { identity, previous, nowMs } = base;
  const { request } = identity;
  const approvedKey = previous?.approvedKey;
  const isPredefined = isPredefinedUnbound(previous);
  const sameRegistration =
    isPredefined ||
    approvedKey !== undefined ||
    previous?.withdrawnKey !== undefined ||
    isAboutRequest(previous, identity)
      ? previous
      : undefined;
  const withdrawnKey = withdrawnKeyAfter(base, outcome);
  const owner = approvedKey ?? withdrawnKey;
  const ownerStays = owner !== undefined && owner !== request.key;
  const clusterName = ownerStays && previous ? previous.clusterName : identity.clusterName;
  // The token gives one to a new registration and to a binding only: who was taken out of its set stays in none.
  const givenSet = sameRegistration === undefined || isPredefined ? request.clusterSet : undefined;
  const clusterSet = sameRegistration?.clusterSet ?? givenSet;
  return {
    ...outcome,
    requestId: request.id,
    key: request.key,
    clusterName,
    namespace: clusterName,
    // What a person laid down beforehand counts more than what the token gives.
    labels: isPredefined
      ? { ...request.labels, ...previous.labels }
      : (sameRegistration?.labels ?? request.labels),
    ...(clusterSet === undefined ? {} : { clusterSet }),
    access: sameRegistration?.access ?? 'None',
    ...(sameRegistration?.memberAccess === undefined ? {} : { memberAccess: sameRegistration.memberAccess }),
    namespacePolicy: sameRegistration?.namespacePolicy ?? 'Delete',
    unschedulable: sameRegistration?.unschedulable ?? false,
    taints: sameRegistration?.taints ?? [],
    heartbeat: sameRegistration?.heartbeat ?? base.heartbeat,
    decidedAtMs: nowMs,
    ...(sameRegistration?.predefined === undefined ? {} : { predefined: sameRegistration.predefined }),
    revokedKeys: previous?.revokedKeys ?? [],
    ...(previous?.actedOn === undefined ? {} : { actedOn: previous.actedOn }),
    ...(previous?.operations === undefined ? {} : { operations: previous.operations }),
    ...(previous?.leavingUid === undefined ? {} : { leavingUid: previous.leavingUid }),
    ...(approvedKey === undefined ? {} : { approvedKey }),
    ...(approvedKey === undefined || previous?.retiringKey === undefined
      ? {}
      : { retiringKey: previous.retiringKey }),
    ...(withdrawnKey === undefined ? {} : { withdrawnKey }),
  };
}

/** An approval of the request's key: it is in and not taken back any more, and a key that it replaces is. */
export function approvalAfter(base: SectionBase, outcome: Omit<Outcome, 'verdict'>): Decision {
  const { identity, previous, nowMs } = base;
  const { key } = identity.request;
  const { retiringKey, ...section } = sectionAfter(base, { ...outcome, verdict: 'approved' });
  const others = section.revokedKeys.filter((revoked) => revoked.key !== key);
  const replaced = [previous?.approvedKey, identity.admittedKey, retiringKey].filter(
    (known) => known !== key,
  );
  return {
    ...section,
    approvedKey: key,
    clusterName: identity.clusterName,
    namespace: identity.clusterName,
    revokedKeys: withRevoked(others, replaced, nowMs),
  };
}

/** A denial of the request's key. A key that was in is taken back with it; the owner's key stays when another one is denied. */
export function denialAfter(base: SectionBase, outcome: Omit<Outcome, 'verdict'>): Decision {
  const { identity, previous } = base;
  const { key } = identity.request;
  const denied = { ...outcome, verdict: 'denied' } as const;
  const wasIn =
    previous?.approvedKey === key || (previous?.approvedKey === undefined && identity.admittedKey === key);
  return wasIn ? allKeysTaken(base, denied) : sectionAfter(base, denied);
}

/**
 * Everything that was let in is taken back: the cluster leaves, or a person took its access away.
 * @param take - `withTakenByAgent` where the agent alone wants it
 */
export function allKeysTaken(base: SectionBase, outcome: Outcome, take = withAllRevoked): Decision {
  const { approvedKey, retiringKey, ...section } = sectionAfter(base, outcome);
  const keys = [approvedKey, base.identity.admittedKey, retiringKey];
  return { ...section, revokedKeys: take(section.revokedKeys, keys, base.nowMs) };
}
