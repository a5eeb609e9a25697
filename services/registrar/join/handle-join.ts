import type { EventLog, FactStore } from '@rollcall/shared/bus';
import type { ClusterRecord } from '@rollcall/shared/events';
import type { ReceivedRequest } from '@rollcall/shared/protocol';
import { inSpan } from '@rollcall/shared/tracing';
import { type FloodGuard, onlyRefused } from '../limits/cut-request-floods.ts';
import { createJoinLimits } from '../limits/join-refusal-limits.ts';
import { type RequestBudget, busyMessage } from '../limits/request-limits.ts';
import { refused, type DatedResult } from '../replies/dated-result.ts';
import { replyByRecord, type ReplySettings, isTrouble } from '../replies/reply.ts';
import { requestStep } from '../replies/trace-request.ts';
import { claimsChanged } from './join-claims.ts';
import { type JoinAttempt, type JoinRequested, readAttempt, refuseShape } from './join-attempt.ts';
import type { JudgedJoin } from './join-batch.ts';
import { createJoinBatcher, turnOf } from './batch-by-token.ts';
import { createJoinGatherer, type JoinSources } from './gather-join-request.ts';
import type { JoinVerdict } from './judge-join.ts';

export interface JoinServices extends Omit<JoinSources, 'log' | 'hubId' | 'limits'> {
  readonly log: EventLog;
  readonly facts: FactStore;
  /** Of all tokens, and of this process. */
  readonly maxBytesPerDay: number;
  readonly settings: ReplySettings;
  readonly floods: Pick<FloodGuard, 'found'>;
}

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
 * Answers verb `join`, in one line: the attempt is read, waits for its turn, is judged and written with the others of its token, is
 * counted, and hears where its key stands now.
 * @param budget - bounds how many join with one token at a time
 */
export function createJoinHandler(
  services: JoinServices,
  budget: Pick<RequestBudget, 'enterWithToken' | 'leaveWithToken'>,
): (received: ReceivedRequest, request: JoinRequested) => Promise<DatedResult> {
  const { log, facts, settings, floods } = services;
  const limits = createJoinLimits(services.maxBytesPerDay);
  const gather = createJoinGatherer({ ...services, hubId: settings.hubId, limits });
  const batcher = createJoinBatcher({ log, gather });
  const answering = new Map<string, { body: string; reply: Promise<DatedResult> }>();

  async function judge(attempt: JoinAttempt): Promise<JudgedJoin | undefined> {
    const turn = turnOf(attempt);
    if (!budget.enterWithToken(turn)) return undefined;
    return batcher.judge(attempt).finally(() => budget.leaveWithToken(turn));
  }

  function count({ attempt, context: { nowMs }, verdict }: JudgedJoin): void {
    const { agentKey, tokenId, tokenProven, body } = attempt;
    const { drafts, refusal, bytes } = verdict;
    if (bytes !== undefined) limits.takeBytes(bytes, nowMs);
    if (!refusal) return;
    if (drafts.length > 0) limits.takeStoredRefusal(tokenId, nowMs);
    // Proven: who only names a token must not have its holders kept out.
    const { tokenKey } = body;
    if (!tokenProven || tokenKey === undefined || isTrouble(refusal.code)) return;
    if (!limits.takeRefusal(tokenKey, Date.now())) floods.found(agentKey, onlyRefused);
  }

  async function join(attempt: JoinAttempt): Promise<DatedResult> {
    const asOfMs = Date.now();
    const judged = await judge(attempt);
    if (!judged) return refused({ code: 'HUB_BUSY', message: busyMessage });
    count(judged);
    const { context, verdict } = judged;
    if (verdict.refusal) return { ...refused(verdict.refusal), asOfMs };
    const { agentKey, body } = attempt;
    if (mayTellFacts(context.cluster, agentKey)) await facts.put(body.clusterId, body.facts, services.epoch);
    // A new request cannot have been decided yet when it was written; only a repetition has to look.
    const { cluster: record, nowMs } = context;
    const result = replyByRecord({ record, drafts: verdict.drafts, agentKey, nowMs }, settings);
    return { result, asOfMs, taken: takenAs(verdict) };
  }

  /**
   * Who asks the same again before it is answered gets that answer too, and costs no second look: when many come at once, those
   * that wait ask again every few seconds (of 300 at once, three of four joins were such: measured).
   */
  return (received, request) => {
    const { agentKey } = received;
    const body = JSON.stringify(request.body);
    const known = answering.get(agentKey);
    if (known?.body === body) return known.reply.then(asRepeated);
    const reply = inSpan(requestStep(request), async (traceparent) => {
      const shape = refuseShape(request.body);
      return shape ? refused(shape) : join(readAttempt(received, request, traceparent));
    }).finally(() => {
      if (answering.get(agentKey)?.reply === reply) answering.delete(agentKey);
    });
    answering.set(agentKey, { body, reply });
    return reply;
  };
}
