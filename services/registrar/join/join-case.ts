import {
  type ClusterRecord,
  currentIdentity,
  type Decision,
  type Identity,
  isPredefinedUnbound,
  type KeyRecord,
  type MemberBeforeRestore,
  type MemberProof,
  type NameRecord,
  type TokenRecord,
} from '@rollcall/shared/events';
import { keyFingerprint, noTokenId } from '@rollcall/shared/trust';
import type { Refusal } from '../replies/refusal.ts';
import { claimsIn } from './join-claims.ts';
import type { JoinAttempt } from './join-attempt.ts';
import { splitLabels } from './granted-labels.ts';
import { refuseToken } from './token-check.ts';

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

/** An attempt beside what was read for it. */
export interface GatheredJoin {
  readonly attempt: JoinAttempt;
  readonly context: JoinContext;
}

/** A gathered join, with what several rules ask about it: found once, whatever rules look at it. */
export interface JoinCase extends GatheredJoin {
  /** What a person laid down before the agent came, while no agent has claimed it. */
  readonly predefined: Decision | undefined;
  /** The name the cluster has, or would get. */
  readonly clusterName: string;
  /** Why no token lets it ask. */
  readonly tokenRefusal: Refusal | undefined;
  /** What it asks by where no token is good: a token that is comes first, so that policies can decide about it. */
  readonly memberBeforeRestore: MemberBeforeRestore | undefined;
  /** The token it asks by: what a token gives, it gives to those that it lets attempt. */
  readonly token: TokenRecord | undefined;
}

export const noToken: Refusal = {
  code: 'TOKEN_UNKNOWN',
  message: 'this key is not known for the cluster, and the request shows no token',
};

/**
 * The one place where a token's rules run: once for each look at the record that the batch is written against. An earlier look could
 * not count the uses that are being written.
 *
 * No cheaper look is needed before it. The callout lets in nobody with an unknown or revoked token; holders of other tokens that are
 * over must hear why; and after a hundred refusals a token's agents are disconnected (limits/join-refusal-limits.ts). What a flood costs is
 * signatures, not these rules: they need no I/O of their own, because the token is read once for a whole batch.
 */
function judgeToken({ attempt, context }: GatheredJoin, clusterName: string): Refusal | undefined {
  if (!attempt.tokenProven) return noToken;
  const { token, nowMs } = context;
  return refuseToken({
    declaration: token?.declaration,
    uses: token?.uses,
    clusterName,
    clusterId: attempt.body.clusterId,
    nowMs,
    isVoid: context.tokenIsVoid ?? false,
    maxPerDay: context.maxUsesPerTokenPerDay,
  });
}

export function openCase(join: GatheredJoin): JoinCase {
  const { attempt, context } = join;
  const { decision } = context.cluster;
  const predefined = isPredefinedUnbound(decision) ? decision : undefined;
  // A cluster keeps the name it has: whoever else asks in its name cannot rename it.
  const clusterName =
    currentIdentity(context.cluster)?.clusterName ?? predefined?.clusterName ?? attempt.body.clusterName;
  const tokenRefusal = judgeToken(join, clusterName);
  const memberBeforeRestore = tokenRefusal ? context.memberBeforeRestore : undefined;
  const token = memberBeforeRestore ? undefined : context.token;
  return { attempt, context, predefined, clusterName, tokenRefusal, memberBeforeRestore, token };
}

function describeRequest({ attempt, context, token, memberBeforeRestore }: JoinCase): Identity['request'] {
  const { body } = attempt;
  const { member, nowMs } = context;
  const declaration = token?.declaration;
  const { granted, dropped } = splitLabels(body.labels, declaration?.allowLabels ?? []);
  return {
    id: attempt.id,
    key: attempt.agentKey,
    keyFingerprint: keyFingerprint(attempt.agentKey),
    tokenId: (memberBeforeRestore ? undefined : attempt.tokenId) ?? noTokenId,
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

/** The identity that the cluster has with this request. */
export function describeIdentity(join: JoinCase): Identity {
  const { body } = join.attempt;
  const known = currentIdentity(join.context.cluster);
  const kind = known ?? join.predefined?.predefined ?? body;
  const { admittedKey, admittedAtMs, rotatedFrom, rotatedAtMs, member, pinnedAtMs } = known ?? {};
  return {
    state: admittedKey === undefined ? 'requested' : 'admitted',
    clusterId: body.clusterId,
    ...(body.clientId === undefined ? {} : { clientId: body.clientId }),
    clusterName: join.clusterName,
    clusterType: kind.clusterType,
    mode: kind.mode,
    request: describeRequest(join),
    ...(admittedKey === undefined ? {} : { admittedKey }),
    ...(admittedAtMs === undefined ? {} : { admittedAtMs }),
    ...(rotatedFrom === undefined ? {} : { rotatedFrom }),
    ...(rotatedAtMs === undefined ? {} : { rotatedAtMs }),
    ...(member === undefined ? {} : { member }),
    ...(pinnedAtMs === undefined ? {} : { pinnedAtMs }),
  };
}

/** The same, where nothing is decided by what it asked for: that is most of its size. */
export function describeShortly(join: JoinCase): Identity {
  const { attempt, context } = join;
  const { member: _proof, ...about } = context;
  return describeIdentity({
    ...join,
    attempt: { ...attempt, body: { ...attempt.body, labels: {} } },
    context: about,
  });
}
