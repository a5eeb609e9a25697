import type { Msg, NatsConnection } from '@nats-io/transport-node';
import { type Arrivals, decideAndAppend } from '@rollcall/shared/decisions';
import { RollcallError, toRollcallError } from '@rollcall/shared/errors';
import { type ClusterRecord, clusterRecord } from '@rollcall/shared/events';
import {
  type ReplyResult,
  decodeRequest,
  type ReceivedRequest,
  refuseStaleRequest,
} from '@rollcall/shared/protocol';
import type { Logger, Metrics } from '@rollcall/shared/service';
import { isPublicNkey, type SignedMessage } from '@rollcall/shared/trust';
import { cutText } from '@rollcall/shared/text';
import { memberAccessOf, replyByRecord, refusalResult, rotateKeyOf, sendReply } from '../replies/reply.ts';
import { inRequestSpan } from '../replies/trace-request.ts';
import { busyMessage, createRequestBudget } from '../limits/request-limits.ts';
import { intervalFor } from '../replies/heartbeat-interval.ts';
import type { FloodGuard } from '../limits/cut-request-floods.ts';
import { isForgotten } from '../members/member-before-restore.ts';
import type { LeaveTurn } from '../limits/leave-rate-limit.ts';
import type { MemberChanges } from '../limits/member-changes.ts';
import { createJoinHandler, type JoinServices } from '../join/handle-join.ts';
import { decideRotated, noteRotated } from '../members/key-rotation.ts';
import { isLeaveUndecided, judgeLeave } from '../members/request-to-leave.ts';
import { decidePin, pinMember } from '../members/issuer-pin.ts';
import { shownIssuer } from '../members/member-proof.ts';
import { asOfNow, joinOutcome, refused, type DatedResult } from '../replies/dated-result.ts';
import { keyStatusOf } from '../replies/key-status.ts';

export interface RequestServices extends JoinServices {
  /** For answers: not the connection that is heard, so that a flood of requests delays neither them nor what is read for them. */
  readonly speaking: NatsConnection;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly floods: Pick<FloodGuard, 'found' | 'isUnheard'>;
  /** Whether nothing is stored any more that an agent alone asks for. */
  isFull(): boolean;
  readonly memberChanges: MemberChanges;
  /** Answers verb `access`. */
  access(received: ReceivedRequest): Promise<ReplyResult>;
  /** Those who join go before those who ask to leave. */
  readonly arrivals: Pick<Arrivals, 'note'>;
  readonly leaveTurn: LeaveTurn;
  /** Answers verb `rotate`. */
  rotate(received: ReceivedRequest): Promise<ReplyResult>;
}

type RequestOf<Verb extends ReceivedRequest['request']['verb']> = Extract<
  ReceivedRequest['request'],
  { verb: Verb }
>;

/**
 * Hears `rollcall.request.*.*` and answers when what was asked is an event: acknowledged means kept.
 * @returns how to stop hearing and wait for what is being answered
 */
export function handleRequests(
  hearing: NatsConnection,
  services: RequestServices,
): { drain(): Promise<void> } {
  const { log, facts, logger, metrics, settings, speaking } = services;
  const open = new Set<Promise<void>>();
  const budget = createRequestBudget(services.floods);
  const join = createJoinHandler(services, budget);

  async function knownCluster(clusterId: string, agentKey: string): Promise<ClusterRecord> {
    const record = clusterRecord(await log.read({ kind: 'cluster', id: clusterId }));
    const { kind } = keyStatusOf(record, agentKey);
    if (kind === 'unknown' && services.epochBefore && isForgotten(record)) {
      const message = `the hub was restored from a backup that does not know the cluster "${clusterId}"`;
      throw new RollcallError('CLUSTER_FORGOTTEN', message);
    }
    if (kind === 'unknown')
      throw new RollcallError('TOKEN_UNKNOWN', `this key is not known for the cluster "${clusterId}"`);
    return record;
  }

  async function renew(agentKey: string, request: RequestOf<'renew'>): Promise<ReplyResult> {
    const nowMs = Date.now();
    const { clusterId, member } = request.body;
    const trace = { correlation: request.id, traceparent: request.traceparent };
    const record = await knownCluster(clusterId, agentKey);
    const { hubId } = settings;
    const shown = member && shownIssuer(member, { hubId, agentKey, nowMs });
    const isFull = services.isFull() || services.memberChanges.isSpent('pin', nowMs);
    if (shown && decidePin({ record, nowMs, isFull }, { agentKey, shown }).length > 0) {
      await pinMember(log, { clusterId, agentKey, shown, isFull }, trace);
      services.memberChanges.note('pin', nowMs);
    }
    if (decideRotated({ record, nowMs }, agentKey).length > 0)
      await noteRotated(log, { clusterId, agentKey }, trace);
    return replyByRecord({ record, agentKey, nowMs }, settings);
  }

  async function leave(
    agentKey: string,
    request: RequestOf<'leave'>,
    proof: SignedMessage,
  ): Promise<ReplyResult> {
    const { clusterId, done } = request.body;
    const { context, drafts } = await decideAndAppend(
      log,
      {
        async gather() {
          const nowMs = Date.now();
          return { record: await knownCluster(clusterId, agentKey), nowMs };
        },
        decide: (given) => judgeLeave({ agentKey, done, proof }, given),
      },
      { correlation: request.id, traceparent: request.traceparent },
    );
    // Whoever asked to leave hears `leave` when the approver has decided it; until then nothing has changed for it. Credentials
    // would be one more connection with each time that it asks.
    if (!done && isLeaveUndecided(context.record, agentKey)) return { kind: 'done' };
    return replyByRecord({ ...context, drafts, agentKey }, settings);
  }

  async function takeFacts(agentKey: string, request: RequestOf<'facts'>): Promise<ReplyResult> {
    const nowMs = Date.now();
    const record = await knownCluster(request.body.clusterId, agentKey);
    if (record.decision?.approvedKey !== agentKey)
      return replyByRecord({ record, agentKey, nowMs }, settings);
    await facts.put(request.body.clusterId, request.body.facts, services.epoch);
    const wanted = { ...intervalFor(record, settings), ...memberAccessOf(record) };
    return { kind: 'done', ...wanted, ...rotateKeyOf(record, agentKey) };
  }

  async function replyTo(received: ReceivedRequest): Promise<DatedResult> {
    const { request, agentKey } = received;
    if (request.hub !== settings.hubId) {
      return refused({
        code: 'HUB_WRONG',
        message: `the request is for the hub "${request.hub}", this is "${settings.hubId}"`,
      });
    }
    const stale = refuseStaleRequest(request.atMs, Date.now());
    if (stale) return refused(stale);
    switch (request.verb) {
      case 'join':
        services.arrivals.note({ kind: 'cluster', type: 'requested' });
        return join(received, request);
      case 'renew':
        return asOfNow(() => inRequestSpan(request, (traced) => renew(agentKey, traced)));
      // All day long, and nothing is written that follows from them: no span.
      case 'facts':
        return asOfNow(() => takeFacts(agentKey, request));
      case 'access':
        return asOfNow(() => inRequestSpan(request, () => services.access(received)));
      case 'leave':
        return asOfNow(() =>
          inRequestSpan(request, (traced) => {
            const work = () => leave(agentKey, traced, received.envelope);
            // What it has removed is not put back by waiting.
            return request.body.done ? work() : services.leaveTurn(work);
          }),
        );
      case 'rotate':
        return asOfNow(() =>
          inRequestSpan(request, (traced) => services.rotate({ ...received, request: traced })),
        );
    }
  }

  async function answer(message: Msg): Promise<void> {
    let received: ReceivedRequest;
    try {
      received = decodeRequest(message.subject, message.data);
    } catch (thrown) {
      refuseUnread(message, toRollcallError(thrown));
      return;
    }
    const { agentKey, request } = received;
    if (received.hasUnknownFacts) metrics.count('rollcall_unknown_facts_total');
    const startedMs = performance.now();
    let reply: DatedResult;
    let hasFailed = false;
    try {
      reply = await replyTo(received);
    } catch (thrown) {
      hasFailed = true;
      const error = toRollcallError(thrown);
      // What is wrong with a request its sender chooses, as often as it likes; it is told.
      const isOurs = error.retry || error.code === 'UNEXPECTED';
      logger[isOurs ? 'warn' : 'debug'](
        { err: error, verb: request.verb, correlation: request.id },
        'a request could not be answered as asked',
      );
      reply = refused({
        code: error.code,
        message: error.code === 'UNEXPECTED' ? 'the hub could not answer' : error.message,
      });
    }
    const { verb } = request;
    const { result, asOfMs } = reply;
    sendReply(speaking, settings, { agentKey, verb, inReplyTo: request.id, nowMs: asOfMs, result });
    metrics.count('rollcall_agent_requests_total', { verb, outcome: hasFailed ? 'failed' : result.kind });
    if (verb === 'join') metrics.count('rollcall_requests_total', { outcome: joinOutcome(reply) });
    metrics.observe('rollcall_agent_request_duration_seconds', (performance.now() - startedMs) / 1000, {
      verb,
    });
  }

  /** The server enforces the sender's key in the subject, so even garbage can be answered to whoever sent it. */
  function refuseUnread(message: Msg, error: RollcallError): void {
    logger.debug({ code: error.code, subject: message.subject }, 'a request was refused unread');
    const [, , agentKey = '', verb = ''] = message.subject.split('.');
    const outcome = error.code === 'HUB_BUSY' ? 'busy' : 'malformed';
    metrics.count('rollcall_agent_requests_total', { verb, outcome });
    if (verb === 'join') metrics.count('rollcall_requests_total', { outcome: error.code });
    if (!isPublicNkey(agentKey, 'user') || verb === '') return;
    const result = refusalResult({ code: error.code, message: cutText(error.message, 500) });
    sendReply(speaking, settings, { agentKey, verb, inReplyTo: '', nowMs: Date.now(), result });
  }

  async function answerWhatever(message: Msg): Promise<void> {
    try {
      await answer(message);
    } catch (thrown) {
      logger.error({ err: toRollcallError(thrown) }, 'a request was not answered');
    }
  }

  function take(message: Msg): void {
    const [, , agentKey = '', verb = ''] = message.subject.split('.');
    const place = budget.enter({ agentKey, verb }, performance.now());
    if (place === 'ignore') {
      metrics.count('rollcall_agent_requests_total', { verb, outcome: 'ignored' });
      return;
    }
    if (place === 'busy') {
      refuseUnread(message, new RollcallError('HUB_BUSY', busyMessage));
      return;
    }
    const work = answerWhatever(message).finally(() => {
      open.delete(work);
      budget.leave({ agentKey, verb });
    });
    open.add(work);
  }

  const subscription = hearing.subscribe('rollcall.request.*.*', {
    queue: 'registrar',
    callback: (error, message) => {
      if (!error) take(message);
    },
  });
  return {
    async drain() {
      await subscription.drain();
      await Promise.allSettled(open);
    },
  };
}
