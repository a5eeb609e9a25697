import type { EventLog } from '@rollcall/shared/bus';
import {
  clusterRecord,
  isTokenVoid,
  keyAggregate,
  keyRecord,
  nameRecord,
  type TokenRecord,
  tokenRecord,
} from '@rollcall/shared/events';
import type { JoinLimits } from '../limits/join-refusal-limits.ts';
import { type EpochBefore, isForgotten, judgeMemberBeforeRestore } from '../members/member-before-restore.ts';
import { pinOf } from '../members/issuer-pin.ts';
import { judgeMemberProof } from '../members/member-proof.ts';
import type { Refusal } from '../replies/refusal.ts';
import type { JoinAttempt } from './join-attempt.ts';
import type { GatheredJoin, JoinContext } from './join-case.ts';

export interface JoinSources {
  readonly log: Pick<EventLog, 'read'>;
  readonly hubId: string;
  readonly epoch: number;
  /** In a hub that was restored. */
  readonly epochBefore?: EpochBefore | undefined;
  readonly reservedNames: readonly string[];
  readonly maxUsesPerTokenPerDay: number;
  readonly maxBytesPerTokenPerDay: number;
  readonly limits: Pick<JoinLimits, 'left'>;
  /** Why a request that is new cannot be taken now, however good it is. */
  refuseNew(tokenId: string | undefined): Refusal | undefined;
}

/** Reads all that joins are judged by. Those of one call name the same token, which is read once for all. */
export function createJoinGatherer(
  sources: JoinSources,
): (attempts: readonly JoinAttempt[]) => Promise<GatheredJoin[]> {
  const { log, hubId, epoch, epochBefore } = sources;
  const { reservedNames, maxUsesPerTokenPerDay, maxBytesPerTokenPerDay } = sources;

  async function gather(
    { agentKey, tokenId, body }: JoinAttempt,
    reading: Promise<TokenRecord | undefined>,
  ): Promise<JoinContext> {
    const { clusterId, clusterName, formerJwt } = body;
    // Before anything is read: credentials must be older than whatever takes their key back after that.
    const nowMs = Date.now();
    const [cluster, token, name, key] = await Promise.all([
      log.read({ kind: 'cluster', id: clusterId }).then(clusterRecord),
      reading,
      log.read({ kind: 'name', id: clusterName }).then(nameRecord),
      log.read(keyAggregate(agentKey)).then(keyRecord),
    ]);
    const memberBeforeRestore =
      formerJwt !== undefined && epochBefore && isForgotten(cluster)
        ? judgeMemberBeforeRestore(formerJwt, { agentKey, clusterId, nowMs }, epochBefore)
        : undefined;
    return {
      cluster,
      token,
      name,
      key,
      memberBeforeRestore,
      tokenIsVoid: token !== undefined && isTokenVoid(token, epoch),
      member: judgeMemberProof(body.member, pinOf(cluster), { hubId, agentKey, nowMs }),
      reservedNames,
      maxUsesPerTokenPerDay,
      maxBytesPerTokenPerDay,
      refuseNew: sources.refuseNew(tokenId),
      nowMs,
      ...sources.limits.left(tokenId, nowMs),
    };
  }

  return (attempts) => {
    const id = attempts[0]?.tokenId;
    const token =
      id === undefined ? Promise.resolve(undefined) : log.read({ kind: 'token', id }).then(tokenRecord);
    return Promise.all(attempts.map(async (attempt) => ({ attempt, context: await gather(attempt, token) })));
  };
}
