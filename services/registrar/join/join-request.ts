import {
  type ClusterRecord,
  clusterIdOf,
  currentIdentity,
  draft,
  type EventDraft,
  type MemberBeforeRestore,
  type Identity,
  isPredefinedUnbound,
  isSafeId,
  isTombstoned,
  type KeyRecord,
  type MemberProof,
  nameTaken,
  type NameRecord,
  refused,
  requested,
  tokenUsed,
  type TokenRecord,
} from '@rollcall/shared/events';
import type { JoinBody } from '@rollcall/shared/protocol';
import { keyFingerprint, tokenIdOf } from '@rollcall/shared/trust';
import { codeAsReason } from '@rollcall/shared/resources/condition-reason';
import { cutText } from '@rollcall/shared/text';
import { changedRequest, claimsIn } from './claims.ts';
import { refuseName, refuseTakenName, refuseUnsafeName } from './cluster-name.ts';
import { refuseForeignKey, refuseManyKeys, refuseSecondKey, takeKey } from '../members/key-holder.ts';
import { refuseVersion } from './member-version.ts';
import type { Refusal } from '../replies/refusal.ts';
import { splitLabels } from './request-labels.ts';
import { banOf, clusterLeft, leavingKeyOf } from '../replies/key-status.ts';
import { refuseSize, refuseToken, tokenNames, usesAfter } from './token-check.ts';

export interface JoinAttempt {
  readonly id: string;
  readonly agentKey: string;
  /** Whether the token's key signed the request too. */
  readonly tokenProven: boolean;
  /** When the agent signed it, in hub time as far as it knew it. */
  readonly signedAtMs?: number;
  readonly body: JoinBody;
}

/** Everything the judgement needs, read before. */
export interface JoinContext {
  readonly cluster: ClusterRecord;
  readonly token: TokenRecord | undefined;
  readonly name: NameRecord;
  /** Of the key that attempts. */
  readonly key: KeyRecord;
  /** The credentials of the hub's former epoch that the request shows, where they hold. */
  readonly memberBeforeRestore?: MemberBeforeRestore | undefined;
  /** The token is of an older epoch. */
  readonly tokenIsVoid?: boolean;
  /** What came of the proof of member in the request, by the pin of that cluster; undefined where it shows none. */
  readonly member?: MemberProof | undefined;
  readonly reservedNames: readonly string[];
  readonly maxUsesPerTokenPerDay: number;
  readonly maxBytesPerTokenPerDay: number;
  /** How large new requests may still be today, of all tokens. */
  readonly bytesLeft: number;
  /** Why the hub has no room for one more request. */
  readonly refuseNew?: Refusal | undefined;
  readonly nowMs: number;
  /** How many refusals may still be stored now: whoever is refused must not fill the history. */
  readonly refusalsLeft: number;
}

export interface JoinVerdict {
  readonly drafts: readonly EventDraft[];
  readonly refusal?: Refusal;
  /** How large the new request is. */
  readonly bytes?: number;
}

/** Refusals that people find on the request object; the others concern nobody but the sender. */
const storedRefusals = new Set([
  'NAME_TAKEN',
  'PREDEFINED_BINDING',
  'MEMBER_TOO_OLD',
  'MEMBER_VERSION_UNREADABLE',
  'TOKEN_EXPIRED',
  'TOKEN_OLD_EPOCH',
  'TOKEN_USED_UP',
  'TOKEN_NAME_MISMATCH',
  'CLUSTER_NAME_RESERVED',
]);

/**
 * Whether the cluster's own words about itself can be used at all. Run before anything is read, because its id and name
 * become subjects.
 */
export function refuseShape(body: JoinBody): Refusal | undefined {
  const shownId = cutText(body.clusterId, 80);
  if (!isSafeId(body.clusterId)) {
    return { code: 'CLUSTER_ID_INVALID', message: `"${shownId}" is no valid cluster id` };
  }
  if (body.clientId !== undefined && clusterIdOf(body.clientId) !== body.clusterId) {
    return {
      code: 'CLUSTER_ID_INVALID',
      message: `the cluster id "${shownId}" is not that of its client id`,
    };
  }
  return refuseUnsafeName(body.clusterName);
}

/** The same key asks about the same request again: the reply is the one it would have had, and no token is used. */
function isRepetition({ identity, decision }: ClusterRecord, attempt: JoinAttempt): boolean {
  if (!identity) return false;
  // A request that was late on its way must not begin a new registration: no decision could tell it from the old one. A refusal may stand
  // there since; what was decided before it was decided about the registration that ended.
  if (identity.state === 'left') return identity.request.id === attempt.id;
  if (identity.state === 'refused') return decision?.requestId === attempt.id;
  // Another key may have asked between the approval and the admission.
  return [identity.request.key, identity.admittedKey, decision?.approvedKey].includes(attempt.agentKey);
}

/** Of no token there is: what is asked without one is read and counted like all else. */
const noTokenId = 'none';

function describeRequest(attempt: JoinAttempt, context: JoinContext): Identity['request'] {
  const { body } = attempt;
  const { member, nowMs } = context;
  const memberBeforeRestore = memberBeforeRestoreIn(attempt, context);
  // What a token gives, it gives to those that it lets attempt.
  const token = memberBeforeRestore ? undefined : context.token;
  const declaration = token?.declaration;
  const { granted, dropped } = splitLabels(body.labels, declaration?.allowLabels ?? []);
  return {
    id: attempt.id,
    key: attempt.agentKey,
    keyFingerprint: keyFingerprint(attempt.agentKey),
    tokenId: memberBeforeRestore ? noTokenId : tokenIdOf(body.tokenKey ?? ''),
    tokenName: declaration ? `${declaration.namespace}/${declaration.name}` : '',
    labels: { ...granted, ...declaration?.labels },
    droppedLabels: dropped,
    ...(declaration?.clusterSet === undefined ? {} : { clusterSet: declaration.clusterSet }),
    claimed: claimsIn(body),
    ...(member === undefined ? {} : { member }),
    ...(memberBeforeRestore === undefined ? {} : { memberBeforeRestore }),
    requestedAtMs: nowMs,
    ...(attempt.signedAtMs === undefined ? {} : { signedAtMs: attempt.signedAtMs }),
  };
}

/** What a person laid down before the agent came; it counts more than what the agent says. */
function predefinedOf({ cluster: { decision } }: JoinContext) {
  return isPredefinedUnbound(decision) ? decision : undefined;
}

/** A cluster keeps the name it has: whoever else asks in its name cannot rename it. */
function nameOf(attempt: JoinAttempt, context: JoinContext): string {
  return (
    currentIdentity(context.cluster)?.clusterName ??
    predefinedOf(context)?.clusterName ??
    attempt.body.clusterName
  );
}

function describeIdentity(attempt: JoinAttempt, context: JoinContext): Identity {
  const { body } = attempt;
  const known = currentIdentity(context.cluster);
  const kind = known ?? predefinedOf(context)?.predefined ?? body;
  const { admittedKey, admittedAtMs, rotatedFrom, rotatedAtMs, member, pinnedAtMs } = known ?? {};
  return {
    state: admittedKey === undefined ? 'requested' : 'admitted',
    clusterId: body.clusterId,
    ...(body.clientId === undefined ? {} : { clientId: body.clientId }),
    clusterName: nameOf(attempt, context),
    clusterType: kind.clusterType,
    mode: kind.mode,
    request: describeRequest(attempt, context),
    ...(admittedKey === undefined ? {} : { admittedKey }),
    ...(admittedAtMs === undefined ? {} : { admittedAtMs }),
    ...(rotatedFrom === undefined ? {} : { rotatedFrom }),
    ...(rotatedAtMs === undefined ? {} : { rotatedAtMs }),
    ...(member === undefined ? {} : { member }),
    ...(pinnedAtMs === undefined ? {} : { pinnedAtMs }),
  };
}

/** Until it has a key, a predefined cluster is anybody's who knows its id; so the token must have been made for it. */
function refuseBinding({ body }: JoinAttempt, context: JoinContext): Refusal | undefined {
  const waiting = predefinedOf(context);
  const declaration = context.token?.declaration;
  if (!waiting || !declaration) return undefined;
  const { clusterName } = waiting;
  if (tokenNames(declaration, { clusterId: body.clusterId, clusterName })) return undefined;
  return {
    code: 'PREDEFINED_BINDING',
    message: `the cluster "${clusterName}" was defined beforehand, and the token "${declaration.name}" does not name it`,
  };
}

/**
 * Whether a request is older than what the record knows, where it would begin something: an old one must not be good for a new
 * registration of the cluster, nor for asking again (ADR 6).
 */
function refuseReplay(
  attempt: JoinAttempt,
  { cluster: { identity, lastOf } }: JoinContext,
): Refusal | undefined {
  if (!identity || attempt.signedAtMs === undefined) return undefined;
  const isOwn = identity.request.key === attempt.agentKey;
  const newestMs =
    identity.state === 'left' ? lastOf.registrar?.timeMs : isOwn ? identity.request.signedAtMs : undefined;
  return newestMs === undefined || attempt.signedAtMs >= newestMs
    ? undefined
    : { code: 'REPLAYED', message: 'the request is older than what the hub knows of this cluster' };
}

const noToken: Refusal = {
  code: 'TOKEN_UNKNOWN',
  message: 'this key is not known for the cluster, and the request shows no token',
};

function refuseByToken(attempt: JoinAttempt, context: JoinContext): Refusal | undefined {
  if (!attempt.tokenProven) return noToken;
  const { token, nowMs } = context;
  return refuseToken({
    declaration: token?.declaration,
    uses: token?.uses,
    clusterName: nameOf(attempt, context),
    clusterId: attempt.body.clusterId,
    nowMs,
    isVoid: context.tokenIsVoid ?? false,
    maxPerDay: context.maxUsesPerTokenPerDay,
  });
}

/** What the request asks by: a token that is good comes first, so that policies can decide about it. */
function memberBeforeRestoreIn(attempt: JoinAttempt, context: JoinContext): MemberBeforeRestore | undefined {
  return refuseByToken(attempt, context) ? context.memberBeforeRestore : undefined;
}

function refuse(attempt: JoinAttempt, context: JoinContext): Refusal | undefined {
  const { name, reservedNames } = context;
  const { body } = attempt;
  // Before the token is looked at: no token makes the key of a cluster that left good again.
  if (isTombstoned(context.cluster.decision, attempt.agentKey)) return clusterLeft;
  const isMemberBeforeRestore = memberBeforeRestoreIn(attempt, context) !== undefined;
  if (!attempt.tokenProven && !isMemberBeforeRestore) return noToken;
  const byKey = refuseForeignKey(context.key, body.clusterId);
  if (byKey) return byKey;
  const byAge = refuseReplay(attempt, context);
  if (byAge) return byAge;
  const byToken = isMemberBeforeRestore ? undefined : refuseByToken(attempt, context);
  if (byToken) return byToken;
  const { decision } = context.cluster;
  // After the token: who has none is not told.
  if (decision?.verdict === 'banned') return banOf(decision);
  // Its record belongs to its leaving: a request in the place of that would keep what waits for it waiting for ever.
  if (leavingKeyOf(context.cluster) !== undefined)
    return { code: 'CLUSTER_LEAVING', message: 'the cluster with this id is leaving the hub' };
  const isOwner = context.member?.sameMember === true;
  const isStranger = !isOwner && currentIdentity(context.cluster)?.admittedKey !== undefined;
  const byDay = refuseManyKeys(context.cluster, { nowMs: context.nowMs, isStranger });
  if (byDay) return byDay;
  const byClaim =
    refuseBinding(attempt, context) ??
    refuseSecondKey(context.cluster, { agentKey: attempt.agentKey, isOwner });
  if (byClaim) return byClaim;
  // A known or predefined cluster keeps its name, whatever its agent calls it.
  const byName =
    refuseName(nameOf(attempt, context), reservedNames) ?? refuseVersion(body.facts.kubernetesVersion);
  if (byName) return byName;
  const asksForName = nameOf(attempt, context) === body.clusterName;
  const byHolder = asksForName ? refuseTakenName(name, body.clusterId) : undefined;
  if (byHolder) return byHolder;
  // Last: whoever could not come in anyway hears why.
  return context.refuseNew ?? refuseBytes(attempt, context);
}

const sizeOf = (request: Identity['request']) => Buffer.byteLength(JSON.stringify(request));

function refuseBytes(attempt: JoinAttempt, context: JoinContext): Refusal | undefined {
  const request = describeRequest(attempt, context);
  const bytes = sizeOf(request);
  const { token, bytesLeft, maxBytesPerTokenPerDay: maxBytesPerDay, nowMs } = context;
  if (bytes > bytesLeft)
    return { code: 'HUB_BUSY', message: 'the requests that this hub took within a day are large together' };
  if (!token || request.memberBeforeRestore) return undefined;
  return refuseSize({ name: request.tokenName, uses: token.uses, bytes, maxBytesPerDay, nowMs });
}

function storeRefusal(attempt: JoinAttempt, context: JoinContext, refusal: Refusal): EventDraft[] {
  const { cluster } = context;
  const before = cluster.identity;
  const untouched = before === undefined || before.state === 'refused' || before.state === 'left';
  const isSame =
    before?.state === 'refused' &&
    before.refusal?.code === refusal.code &&
    before.request.key === attempt.agentKey;
  const hasRoom = context.refusalsLeft > 0 && context.refuseNew?.code !== 'HUB_FULL';
  if (!untouched || isSame || !hasRoom || !storedRefusals.has(refusal.code)) return [];
  // Nothing is decided by what it asked for, and that is most of its size.
  const { member: _proof, ...about } = context;
  const short = describeIdentity({ ...attempt, body: { ...attempt.body, labels: {} } }, about);
  const section = { ...short, state: 'refused' as const, refusal: { ...refusal } };
  const reason = codeAsReason(refusal.code);
  return [draft(refused, cluster, { reason, message: refusal.message, section })];
}

function asksBy({ tokenName, memberBeforeRestore }: Identity['request']): string {
  return memberBeforeRestore
    ? 'with credentials of before the hub was restored'
    : `with token "${tokenName}"`;
}

/**
 * Judges a request to join, before any policy is asked: is it genuine, and is it new?
 *
 * A new one is written together with the use of its token and the taking of its name and key, all or nothing, so that fifty racers
 * with one token have one winner.
 * @returns for a repetition no drafts, or what has changed of a request that waits; a refusal, stored where people would look for it
 */
export function judgeJoin(attempt: JoinAttempt, context: JoinContext): JoinVerdict {
  const { cluster, name } = context;
  if (isRepetition(cluster, attempt)) {
    // What is left of a full place is for what the hub has promised already (principle 12).
    const isFull = context.refuseNew?.code === 'HUB_FULL';
    return { drafts: isFull ? [] : changedRequest(attempt, context) };
  }
  const refusal = refuse(attempt, context);
  if (refusal) return { drafts: storeRefusal(attempt, context, refusal), refusal };
  const section = describeIdentity(attempt, context);
  const { clusterName, clusterId } = section;
  const bytes = sizeOf(section.request);
  const drafts = [
    draft(requested, cluster, {
      reason: 'Requested',
      message: `cluster "${clusterName}" asks to join ${asksBy(section.request)}`,
      section,
    }),
  ];
  const token = section.request.memberBeforeRestore ? undefined : context.token;
  if (token) {
    drafts.push(
      draft(tokenUsed, token, {
        reason: 'Used',
        message: `used by cluster "${clusterName}"`,
        section: usesAfter(token.uses, { clusterId, bytes, nowMs: context.nowMs }),
      }),
    );
  }
  // Who comes back takes its name again: a release that is on its way then loses the race.
  const comesBack =
    name.holder === clusterId &&
    cluster.identity !== undefined &&
    currentIdentity(context.cluster) === undefined;
  if (name.aggregate.id === clusterName && (name.holder === undefined || comesBack)) {
    drafts.push(
      draft(nameTaken, name, {
        reason: 'Taken',
        message: `taken by cluster ${clusterId}`,
        section: { name: clusterName, clusterId, free: false },
      }),
    );
  }
  return { drafts: [...drafts, ...takeKey(context.key, attempt.agentKey, clusterId)], bytes };
}
