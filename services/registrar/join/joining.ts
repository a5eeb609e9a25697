import type { EventLog, FactStore, Trace } from '@rollcall/shared/bus';
import {
  type ClusterRecord,
  clusterRecord,
  isTokenVoid,
  keyAggregate,
  keyRecord,
  nameRecord,
  type TokenRecord,
} from '@rollcall/shared/events';
import type { ReceivedRequest } from '@rollcall/shared/protocol';
import { inSpan } from '@rollcall/shared/tracing';
import { isPublicNkey, isSignedBy, tokenIdOf } from '@rollcall/shared/trust';
import { replyByRecord, type ReplySettings, isTrouble } from '../replies/reply.ts';
import { requestStep } from '../replies/request-span.ts';
import { type RequestBudget, busyMessage } from '../limits/room-for-requests.ts';
import { claimsChanged } from './claims.ts';
import { type FloodGuard, onlyRefused } from '../limits/cut-request-floods.ts';
import { type EpochBefore, isForgotten, judgeMemberBeforeRestore } from '../members/member-before-restore.ts';
import { type JoinContext, type JoinVerdict, refuseShape } from './join-request.ts';
import { createJoinBatcher, type BatcherJoin } from './join-batcher.ts';
import { pinOf } from '../members/member-pin.ts';
import { judgeMemberProof } from '../members/member-proof.ts';
import type { Refusal } from '../replies/refusal.ts';
import { refused, type DatedResult } from '../replies/dated-result.ts';
import { createRateLimiter } from '../limits/rate-limiter.ts';

export interface JoinServices {
  readonly log: EventLog;
  readonly facts: FactStore;
  readonly epoch: number;
  readonly reservedNames: readonly string[];
  readonly maxUsesPerTokenPerDay: number;
  readonly maxBytesPerTokenPerDay: number;
  /** Of all tokens, and of this process. */
  readonly maxBytesPerDay: number;
  readonly settings: ReplySettings;
  readonly floods: Pick<FloodGuard, 'found'>;
  /** Why a request that is new cannot be taken now, however good it is. */
  refuseNew(tokenId: string | undefined): Refusal | undefined;
  /** In a hub that was restored. */
  readonly epochBefore?: EpochBefore | undefined;
}

const daySeconds = 86_400;
/**
 * People find a refusal on the request object, so some are stored: with one token, and in all. A mistake with one token shows in a
 * few of them, the others are counted; and a holder of a token that is over must not fill the history.
 */
export const refusalsStoredOfOneToken = { burst: 10, perSecond: 10 / daySeconds };
export const refusalsStored = { burst: 100, perSecond: 100 / daySeconds };
/** One token may be refused so often, whatever keys show it: some hundred agents that were given a token for fewer, and no flood. */
const refusalsOfOneToken = { burst: 100, perSecond: 2 };
const rememberedTokens = 10_000;

type ReceivedJoin = Extract<ReceivedRequest['request'], { verb: 'join' }>;

function takenAs({ drafts: [request] }: JoinVerdict): NonNullable<DatedResult['taken']> {
  if (!request) return 'repeated';
  return request.reason === claimsChanged ? 'changed' : 'requested';
}

const asRepeated = (reply: DatedResult): DatedResult =>
  reply.taken ? { ...reply, taken: 'repeated' } : reply;

/** While a cluster has an owner, nobody else's facts are shown as its own. */
function mayTellFacts({ identity, decision }: ClusterRecord, agentKey: string): boolean {
  const owner = decision?.approvedKey ?? identity?.admittedKey;
  return identity?.state === 'left' || owner === undefined || owner === agentKey;
}

/**
 * Answers verb `join`: reads what is known, judges, keeps the request, and says where the key stands now.
 * @param budget - bounds how many join with one token at a time
 */
export function createJoinHandler(
  services: JoinServices,
  budget: Pick<RequestBudget, 'enterWithToken' | 'leaveWithToken'>,
): (received: ReceivedRequest, attempt: ReceivedJoin) => Promise<DatedResult> {
  const { log, facts, settings } = services;
  const turns = createJoinBatcher({ log, gather: gatherJoin });
  const refusals = createRateLimiter(refusalsOfOneToken, rememberedTokens);
  const joining = new Map<string, { body: string; reply: Promise<DatedResult> }>();
  const storedOfToken = createRateLimiter(refusalsStoredOfOneToken, rememberedTokens);
  const stored = createRateLimiter(refusalsStored, 1);
  const { maxBytesPerDay: burst } = services;
  const newRequests = createRateLimiter({ burst, perSecond: burst / daySeconds }, 1);

  async function gatherJoin(
    { attempt, tokenId }: BatcherJoin,
    reading: Promise<TokenRecord | undefined>,
  ): Promise<JoinContext> {
    const { clusterId, clusterName, member } = attempt.body;
    const nowMs = Date.now();
    const [cluster, token, name, key] = await Promise.all([
      log.read({ kind: 'cluster', id: clusterId }),
      reading,
      log.read({ kind: 'name', id: clusterName }),
      log.read(keyAggregate(attempt.agentKey)),
    ]);
    const record = clusterRecord(cluster);
    const { agentKey } = attempt;
    const { formerJwt } = attempt.body;
    const memberBeforeRestore =
      formerJwt !== undefined && services.epochBefore && isForgotten(record)
        ? judgeMemberBeforeRestore(formerJwt, { agentKey, clusterId, nowMs }, services.epochBefore)
        : undefined;
    const proofContext = { hubId: settings.hubId, agentKey, nowMs };
    return {
      cluster: record,
      token,
      memberBeforeRestore,
      tokenIsVoid: token !== undefined && isTokenVoid(token, services.epoch),
      name: nameRecord(name),
      key: keyRecord(key),
      member: judgeMemberProof(member, pinOf(record), proofContext),
      reservedNames: services.reservedNames,
      maxUsesPerTokenPerDay: services.maxUsesPerTokenPerDay,
      maxBytesPerTokenPerDay: services.maxBytesPerTokenPerDay,
      bytesLeft: newRequests.left('all', nowMs),
      refuseNew: services.refuseNew(tokenId),
      nowMs,
      refusalsLeft: Math.min(storedOfToken.left(tokenId ?? '', nowMs), stored.left('all', nowMs)),
    };
  }

  /** One registration, as the hub sees it: check the shape, judge, keep, and say where the key stands now. */
  async function join(received: ReceivedRequest, attempt: ReceivedJoin, trace: Trace): Promise<DatedResult> {
    const { agentKey, envelope } = received;
    const asOfMs = Date.now();
    const shape = refuseShape(attempt.body);
    if (shape) return refused(shape);
    const { tokenKey } = attempt.body;
    const isKey = tokenKey !== undefined && isPublicNkey(tokenKey, 'user');
    const tokenProven = isKey && isSignedBy(envelope, tokenKey);
    // Only who holds the token waits with its other holders: anybody can name it.
    const turn = tokenProven ? tokenKey : agentKey;
    if (!budget.enterWithToken(turn)) return refused({ code: 'HUB_BUSY', message: busyMessage });
    const tokenId = isKey ? tokenIdOf(tokenKey) : undefined;
    const { verdict, context } = await turns
      .judge(turn, {
        attempt: { id: attempt.id, agentKey, tokenProven, signedAtMs: attempt.atMs, body: attempt.body },
        trace,
        tokenId,
      })
      .finally(() => budget.leaveWithToken(turn));
    const { drafts, refusal, bytes } = verdict;
    // Of two tokens at once both may have fitted.
    if (bytes !== undefined)
      newRequests.take('all', context.nowMs, Math.min(bytes, newRequests.left('all', context.nowMs)));
    if (refusal) {
      if (drafts.length > 0) {
        storedOfToken.take(tokenId ?? '', context.nowMs);
        stored.take('all', context.nowMs);
      }
      // Proven: who only names a token must not have its holders kept out.
      const isTokens = tokenProven && !isTrouble(refusal.code);
      if (isTokens && !refusals.take(tokenKey, Date.now())) services.floods.found(agentKey, onlyRefused);
      return { ...refused(refusal), asOfMs };
    }
    if (mayTellFacts(context.cluster, agentKey)) {
      await facts.put(attempt.body.clusterId, attempt.body.facts, services.epoch);
    }
    // A new request cannot have been decided yet when it was written; only a repetition has to look.
    const { cluster: record, nowMs } = context;
    const result = replyByRecord({ record, drafts, agentKey, nowMs }, settings);
    return { result, asOfMs, taken: takenAs(verdict) };
  }

  /**
   * Who asks the same again before it is answered gets that answer too, and costs no second look: when many come at once, those
   * that wait ask again every few seconds (of 300 at once, three of four joins were such: measured).
   */
  return (received, attempt) => {
    const { agentKey } = received;
    const body = JSON.stringify(attempt.body);
    const known = joining.get(agentKey);
    if (known?.body === body) return known.reply.then(asRepeated);
    const reply = inSpan(requestStep(attempt), (traceparent) =>
      join(received, attempt, { correlation: attempt.id, traceparent }),
    ).finally(() => {
      if (joining.get(agentKey)?.reply === reply) joining.delete(agentKey);
    });
    joining.set(agentKey, { body, reply });
    return reply;
  };
}
