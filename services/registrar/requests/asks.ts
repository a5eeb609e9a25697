import type { Msg, NatsConnection } from '@nats-io/transport-node';
import { decideAndAppend } from '@rollcall/shared/decisions';
import { RollcallError, toRollcallError } from '@rollcall/shared/errors';
import { type ClusterRecord, clusterRecord } from '@rollcall/shared/events';
import { type AnswerResult, decodeAsk, type ReceivedAsk, refuseStaleAsk } from '@rollcall/shared/protocol';
import type { Logger, Metrics } from '@rollcall/shared/service';
import { isPublicNkey, type SignedMessage } from '@rollcall/shared/trust';
import { cutText } from '@rollcall/shared/text';
import { answerByRecord, refusalResult, rotateKeyOf, sendAnswer } from '../replies/answer.ts';
import { inAskSpan } from '../replies/ask-step.ts';
import { busyMessage, createAskBudget } from '../limits/ask-budget.ts';
import { intervalFor } from '../replies/heartbeat-interval.ts';
import type { FloodCutter } from '../limits/cut-floods.ts';
import { isForgotten } from '../members/former-member.ts';
import type { MemberChanges } from '../limits/member-changes.ts';
import { createJoinAnswers, type JoinServices } from '../join/joining.ts';
import { decideRotated, noteRotated } from '../members/key-rotation.ts';
import { judgeLeave } from '../members/leave.ts';
import { decidePin, pinMember } from '../members/member-pin.ts';
import { shownIssuer } from '../members/member-proof.ts';
import { asOfNow, joinOutcome, refused, type Reply } from '../replies/reply.ts';
import { standingOf } from '../replies/standing.ts';

export interface AskServices extends JoinServices {
  /** For answers: not the connection that is heard, so that a flood of asks delays neither them nor what is read for them. */
  readonly speaking: NatsConnection;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly floods: Pick<FloodCutter, 'found' | 'isUnheard'>;
  /** Whether nothing is stored any more that an agent alone asks for. */
  isFull(): boolean;
  readonly memberChanges: MemberChanges;
  /** Answers verb `access`. */
  access(received: ReceivedAsk): Promise<AnswerResult>;
  /** Answers verb `rotate`. */
  rotate(received: ReceivedAsk): Promise<AnswerResult>;
}

type AskOf<Verb extends ReceivedAsk['ask']['verb']> = Extract<ReceivedAsk['ask'], { verb: Verb }>;

/**
 * Hears `rollcall.ask.*.*` and answers when what was asked is an event: acknowledged means kept.
 * @returns how to stop hearing and wait for what is being answered
 */
export function answerAsks(hearing: NatsConnection, services: AskServices): { drain(): Promise<void> } {
  const { log, facts, logger, metrics, settings, speaking } = services;
  const open = new Set<Promise<void>>();
  const budget = createAskBudget(services.floods);
  const join = createJoinAnswers(services, budget);

  async function knownCluster(clusterId: string, agentKey: string): Promise<ClusterRecord> {
    const record = clusterRecord(await log.read({ kind: 'cluster', id: clusterId }));
    const { kind } = standingOf(record, agentKey);
    if (kind === 'unknown' && services.formerLife && isForgotten(record)) {
      const message = `the hub was restored from a backup that does not know the cluster "${clusterId}"`;
      throw new RollcallError('CLUSTER_FORGOTTEN', message);
    }
    if (kind === 'unknown')
      throw new RollcallError('TOKEN_UNKNOWN', `this key is not known for the cluster "${clusterId}"`);
    return record;
  }

  async function renew(agentKey: string, ask: AskOf<'renew'>): Promise<AnswerResult> {
    const nowMs = Date.now();
    const { clusterId, member } = ask.body;
    const trace = { correlation: ask.id, traceparent: ask.traceparent };
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
    return answerByRecord({ record, agentKey, nowMs }, settings);
  }

  async function leave(agentKey: string, ask: AskOf<'leave'>, proof: SignedMessage): Promise<AnswerResult> {
    const { clusterId, done } = ask.body;
    const { context, drafts } = await decideAndAppend(
      log,
      {
        async gather() {
          const nowMs = Date.now();
          return { record: await knownCluster(clusterId, agentKey), nowMs };
        },
        decide: (given) => judgeLeave({ agentKey, done, proof }, given),
      },
      { correlation: ask.id, traceparent: ask.traceparent },
    );
    // Whoever asked to leave hears `leave` when the approver has decided it; until then nothing has changed for it.
    if (drafts.length > 0 && !done) return { kind: 'done' };
    return answerByRecord({ ...context, drafts, agentKey }, settings);
  }

  async function takeFacts(agentKey: string, ask: AskOf<'facts'>): Promise<AnswerResult> {
    const nowMs = Date.now();
    const record = await knownCluster(ask.body.clusterId, agentKey);
    if (record.decision?.approvedKey !== agentKey)
      return answerByRecord({ record, agentKey, nowMs }, settings);
    await facts.put(ask.body.clusterId, ask.body.facts, services.epoch);
    return { kind: 'done', ...intervalFor(record, settings), ...rotateKeyOf(record, agentKey) };
  }

  async function replyTo(received: ReceivedAsk): Promise<Reply> {
    const { ask, agentKey } = received;
    if (ask.hub !== settings.hubId) {
      return refused({
        code: 'HUB_WRONG',
        message: `the request is for the hub "${ask.hub}", this is "${settings.hubId}"`,
      });
    }
    const stale = refuseStaleAsk(ask.atMs, Date.now());
    if (stale) return refused(stale);
    switch (ask.verb) {
      case 'join':
        return join(received, ask);
      case 'renew':
        return asOfNow(() => inAskSpan(ask, (traced) => renew(agentKey, traced)));
      // All day long, and nothing is written that follows from them: no span.
      case 'facts':
        return asOfNow(() => takeFacts(agentKey, ask));
      case 'access':
        return asOfNow(() => inAskSpan(ask, () => services.access(received)));
      case 'leave':
        return asOfNow(() => inAskSpan(ask, (traced) => leave(agentKey, traced, received.envelope)));
      case 'rotate':
        return asOfNow(() => inAskSpan(ask, (traced) => services.rotate({ ...received, ask: traced })));
    }
  }

  async function answer(message: Msg): Promise<void> {
    let received: ReceivedAsk;
    try {
      received = decodeAsk(message.subject, message.data);
    } catch (thrown) {
      refuseUnread(message, toRollcallError(thrown));
      return;
    }
    const { agentKey, ask } = received;
    if (received.hasUnknownFacts) metrics.count('rollcall_unknown_facts_total');
    const startedMs = performance.now();
    let reply: Reply;
    let hasFailed = false;
    try {
      reply = await replyTo(received);
    } catch (thrown) {
      hasFailed = true;
      const error = toRollcallError(thrown);
      logger.warn(
        { err: error, verb: ask.verb, correlation: ask.id },
        'an ask could not be answered as asked',
      );
      reply = refused({
        code: error.code,
        message: error.code === 'UNEXPECTED' ? 'the hub could not answer' : error.message,
      });
    }
    const { verb } = ask;
    const { result, asOfMs } = reply;
    sendAnswer(speaking, settings, { agentKey, verb, inReplyTo: ask.id, nowMs: asOfMs, result });
    metrics.count('rollcall_asks_total', { verb, outcome: hasFailed ? 'failed' : result.kind });
    if (verb === 'join') metrics.count('rollcall_requests_total', { outcome: joinOutcome(reply) });
    metrics.observe('rollcall_ask_duration_seconds', (performance.now() - startedMs) / 1000, { verb });
  }

  /** The server enforces the sender's key in the subject, so even garbage can be answered to whoever sent it. */
  function refuseUnread(message: Msg, error: RollcallError): void {
    logger.debug({ code: error.code, subject: message.subject }, 'an ask was refused unread');
    const [, , agentKey = '', verb = ''] = message.subject.split('.');
    const outcome = error.code === 'HUB_BUSY' ? 'busy' : 'malformed';
    metrics.count('rollcall_asks_total', { verb, outcome });
    if (verb === 'join') metrics.count('rollcall_requests_total', { outcome: error.code });
    if (!isPublicNkey(agentKey, 'user') || verb === '') return;
    const result = refusalResult({ code: error.code, message: cutText(error.message, 500) });
    sendAnswer(speaking, settings, { agentKey, verb, inReplyTo: '', nowMs: Date.now(), result });
  }

  async function answerWhatever(message: Msg): Promise<void> {
    try {
      await answer(message);
    } catch (thrown) {
      logger.error({ err: toRollcallError(thrown) }, 'an ask was not answered');
    }
  }

  function take(message: Msg): void {
    const [, , agentKey = '', verb = ''] = message.subject.split('.');
    const place = budget.enter({ agentKey, verb }, Date.now());
    if (place === 'ignore') {
      metrics.count('rollcall_asks_total', { verb, outcome: 'ignored' });
      return;
    }
    if (place === 'busy') {
      refuseUnread(message, new RollcallError('HUB_BUSY', busyMessage));
      return;
    }
    const work = answerWhatever(message).finally(() => {
      open.delete(work);
      budget.leave(agentKey);
    });
    open.add(work);
  }

  const subscription = hearing.subscribe('rollcall.ask.*.*', {
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
