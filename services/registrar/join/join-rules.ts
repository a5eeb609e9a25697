import type { ErrorCode } from '@rollcall/shared/errors';
import { currentIdentity, isAhead, isTombstoned } from '@rollcall/shared/events';
import { longestSkewMs } from '@rollcall/shared/protocol';
import { refuseForeignKey, refuseManyKeys, refuseSecondKey } from '../members/key-holder.ts';
import { banOf, clusterLeft, leavingKeyOf } from '../replies/key-status.ts';
import type { Refusal } from '../replies/refusal.ts';
import { refuseName, refuseTakenName } from './refuse-taken-name.ts';
import { type JoinCase, noToken } from './join-case.ts';
import { refuseVersion } from './member-version.ts';
import { refuseSize, tokenNames } from './token-check.ts';

type Rule = (join: JoinCase) => Refusal | undefined;

export interface JoinRule {
  readonly refuse: Rule;
  /** What it refuses with. */
  readonly codes: readonly ErrorCode[];
}

const keyOfClusterThatLeft: Rule = ({ attempt, context }) =>
  isTombstoned(context.cluster.decision, attempt.agentKey) ? clusterLeft : undefined;

const nothingShown: Rule = ({ attempt, memberBeforeRestore }) =>
  attempt.tokenProven || memberBeforeRestore ? undefined : noToken;

const keyOfAnotherCluster: Rule = ({ attempt, context }) =>
  refuseForeignKey(context.key, attempt.body.clusterId);

/**
 * Whether a request is older than what the record knows, where it would begin something: an old one must not be good for a new
 * registration of the cluster, nor for asking again (ADR 6). What a clock wrote that was ahead says nothing of that.
 */
const olderThanKnown: Rule = ({ attempt, context }) => {
  const { identity, lastOf } = context.cluster;
  if (!identity || attempt.signedAtMs === undefined) return undefined;
  const isOwn = identity.request.key === attempt.agentKey;
  const newestMs =
    identity.state === 'left' ? lastOf.registrar?.timeMs : isOwn ? identity.request.signedAtMs : undefined;
  return newestMs === undefined ||
    attempt.signedAtMs >= newestMs ||
    isAhead(newestMs, context.nowMs, longestSkewMs)
    ? undefined
    : { code: 'REPLAYED', message: 'the request is older than what the hub knows of this cluster' };
};

const tokenIsNotGood: Rule = ({ tokenRefusal, memberBeforeRestore }) =>
  memberBeforeRestore ? undefined : tokenRefusal;

const banned: Rule = ({ context: { cluster } }) =>
  cluster.decision?.verdict === 'banned' ? banOf(cluster.decision) : undefined;

/** Its record belongs to its leaving: a request in the place of that would keep what waits for it waiting for ever. */
const leaves: Rule = ({ context }) =>
  leavingKeyOf(context.cluster) === undefined
    ? undefined
    : { code: 'CLUSTER_LEAVING', message: 'the cluster with this id is leaving the hub' };

const tooManyKeys: Rule = ({ context: { cluster, member, nowMs } }) => {
  const isStranger = member?.sameMember !== true && currentIdentity(cluster)?.admittedKey !== undefined;
  return refuseManyKeys(cluster, { nowMs, isStranger });
};

/** Until it has a key, a predefined cluster is anybody's who knows its id; so the token must have been made for it. */
const predefinedForAnotherToken: Rule = ({ attempt, context, predefined }) => {
  const declaration = context.token?.declaration;
  if (!predefined || !declaration) return undefined;
  const { clusterName } = predefined;
  if (tokenNames(declaration, { clusterId: attempt.body.clusterId, clusterName })) return undefined;
  return {
    code: 'PREDEFINED_BINDING',
    message: `the cluster "${clusterName}" was defined beforehand, and the token "${declaration.name}" does not name it`,
  };
};

const anotherKeyWaits: Rule = ({ attempt: { agentKey }, context }) =>
  refuseSecondKey(context.cluster, { agentKey, isOwner: context.member?.sameMember === true });

const nameIsNotGood: Rule = ({ clusterName, context }) => refuseName(clusterName, context.reservedNames);

const memberIsTooOld: Rule = ({ attempt }) => refuseVersion(attempt.body.facts.kubernetesVersion);

/** A known or predefined cluster keeps its name, whatever its agent calls it. */
const nameIsTaken: Rule = ({ attempt: { body }, clusterName, context }) =>
  clusterName === body.clusterName ? refuseTakenName(context.name, body.clusterId) : undefined;

const noRoom: Rule = ({ context }) => context.refuseNew;

/** The first that refuses is what the agent hears, so the order is the policy. */
export const joinRules: readonly JoinRule[] = [
  // No token makes the key of a cluster that left good again.
  { refuse: keyOfClusterThatLeft, codes: ['CLUSTER_LEFT'] },
  { refuse: nothingShown, codes: ['TOKEN_UNKNOWN'] },
  { refuse: keyOfAnotherCluster, codes: ['KEY_TAKEN'] },
  { refuse: olderThanKnown, codes: ['REPLAYED'] },
  {
    refuse: tokenIsNotGood,
    codes: [
      'TOKEN_EXPIRED',
      'TOKEN_UNKNOWN',
      'TOKEN_OLD_EPOCH',
      'TOKEN_NAME_MISMATCH',
      'TOKEN_USED_UP',
      'HUB_BUSY',
    ],
  },
  // From here on the token is good: who has none is told nothing about the cluster.
  { refuse: banned, codes: ['CLUSTER_BANNED'] },
  { refuse: leaves, codes: ['CLUSTER_LEAVING'] },
  { refuse: tooManyKeys, codes: ['HUB_BUSY'] },
  { refuse: predefinedForAnotherToken, codes: ['PREDEFINED_BINDING'] },
  { refuse: anotherKeyWaits, codes: ['REQUEST_OPEN'] },
  { refuse: nameIsNotGood, codes: ['CLUSTER_NAME_INVALID', 'CLUSTER_NAME_RESERVED'] },
  { refuse: memberIsTooOld, codes: ['MEMBER_VERSION_UNREADABLE', 'MEMBER_TOO_OLD'] },
  { refuse: nameIsTaken, codes: ['NAME_TAKEN'] },
  // Last: whoever could not come in anyway hears why.
  { refuse: noRoom, codes: ['HUB_FULL', 'TOO_MANY_OPEN_REQUESTS'] },
];

/** Refusals that people find on the request object; the others concern nobody but the sender. */
export const storedRefusals: ReadonlySet<ErrorCode> = new Set([
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

export function refuseJoin(join: JoinCase): Refusal | undefined {
  for (const { refuse } of joinRules) {
    const refusal = refuse(join);
    if (refusal) return refusal;
  }
  return undefined;
}

/** After all rules, because only a request that would be written is worth describing and measuring. */
export function refuseBytes(
  { context, token }: JoinCase,
  tokenName: string,
  bytes: number,
): Refusal | undefined {
  const { bytesLeft, maxBytesPerTokenPerDay: maxBytesPerDay, nowMs } = context;
  if (bytes > bytesLeft)
    return { code: 'HUB_BUSY', message: 'the requests that this hub took within a day are large together' };
  return token && refuseSize({ name: tokenName, uses: token.uses, bytes, maxBytesPerDay, nowMs });
}
