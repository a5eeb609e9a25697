import type { Msg, NatsConnection } from '@nats-io/transport-node';
import type { EventLog, FactStore, Trace } from '@rollcall/shared/bus';
import { createKeyedQueue, decideAndAppend } from '@rollcall/shared/decisions';
import { RollcallError, toRollcallError } from '@rollcall/shared/errors';
import { type ClusterRecord, clusterRecord, nameRecord, tokenRecord } from '@rollcall/shared/events';
import { type AnswerResult, decodeAsk, type ReceivedAsk } from '@rollcall/shared/protocol';
import type { Logger, Metrics } from '@rollcall/shared/service';
import { inSpan } from '@rollcall/shared/tracing';
import { isPublicNkey, isSignedBy, tokenIdOf } from '@rollcall/shared/trust';
import { type AnswerSettings, refusalResult, sendAnswer, standingResult } from './answer.ts';
import { judgeJoin, type JoinContext, refuseShape } from './join-request.ts';
import type { Refusal } from './refusal.ts';
import { standingOf } from './standing.ts';

export interface AskServices {
  readonly log: EventLog;
  readonly facts: FactStore;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly epoch: number;
  readonly reservedNames: readonly string[];
  readonly settings: AnswerSettings;
}

/** What one process works on at a time; beyond it agents are told to come again. */
const maxOpenAsks = 2000;
/** Of these at most so many by one agent: it asks one thing at a time, and a flood of its own must not starve the others. */
const maxOpenAsksOfOneAgent = 8;
const refusalsStoredPerMinute = 60;

type AskOf<Verb extends ReceivedAsk['ask']['verb']> = Extract<ReceivedAsk['ask'], { verb: Verb }>;

/** While a cluster has an owner, nobody else's facts are shown as its own. */
function mayTellFacts({ identity, decision }: ClusterRecord, agentKey: string): boolean {
  const owner = decision?.approvedKey ?? identity?.admittedKey;
  return identity?.state === 'left' || owner === undefined || owner === agentKey;
}

/**
 * Hears `rollcall.ask.*.*` and answers when what was asked is an event: acknowledged means kept.
 * @returns how to stop hearing and wait for what is being answered
 */
export function answerAsks(nc: NatsConnection, services: AskServices): { drain(): Promise<void> } {
  const { log, facts, logger, metrics, settings } = services;
  const perToken = createKeyedQueue();
  const open = new Set<Promise<void>>();
  const openOf = new Map<string, number>();
  let storedThisMinute = { minute: 0, count: 0 };

  function mayStoreRefusal(nowMs: number): boolean {
    const minute = Math.floor(nowMs / 60_000);
    if (storedThisMinute.minute !== minute) storedThisMinute = { minute, count: 0 };
    return storedThisMinute.count < refusalsStoredPerMinute;
  }

  async function gatherJoin(ask: AskOf<'join'>, tokenKey: string | undefined): Promise<JoinContext> {
    const { clusterId, clusterName } = ask.body;
    const nowMs = Date.now();
    const [cluster, token, name] = await Promise.all([
      log.read({ kind: 'cluster', id: clusterId }),
      tokenKey === undefined ? undefined : log.read({ kind: 'token', id: tokenIdOf(tokenKey) }),
      log.read({ kind: 'name', id: clusterName }),
    ]);
    return {
      cluster: clusterRecord(cluster),
      token: token && tokenRecord(token),
      name: nameRecord(name),
      reservedNames: services.reservedNames,
      nowMs,
      mayStoreRefusal: mayStoreRefusal(nowMs),
    };
  }

  /** One registration, as the hub sees it: check the shape, judge, keep, and say where the key stands now. */
  async function join(
    { agentKey, envelope }: ReceivedAsk,
    ask: AskOf<'join'>,
    trace: Trace,
  ): Promise<AnswerResult> {
    const shape = refuseShape(ask.body);
    if (shape) return refusalResult(shape);
    const { tokenKey } = ask.body;
    const isKey = tokenKey !== undefined && isPublicNkey(tokenKey, 'user');
    const tokenProven = isKey && isSignedBy(envelope, tokenKey);
    let refusal: Refusal | undefined;
    const decision = {
      gather: () => gatherJoin(ask, isKey ? tokenKey : undefined),
      decide(context: JoinContext) {
        const verdict = judgeJoin({ id: ask.id, agentKey, tokenProven, body: ask.body }, context);
        refusal = verdict.refusal;
        return verdict.drafts;
      },
    };
    // Only who holds the token waits with its other holders: anybody can name it.
    const { drafts, context } = await perToken(tokenProven ? tokenKey : agentKey, () =>
      decideAndAppend(log, decision, trace),
    );
    if (refusal) {
      if (drafts.length > 0) storedThisMinute.count++;
      metrics.count('rollcall_requests_total', { outcome: refusal.code });
      return refusalResult(refusal);
    }
    metrics.count('rollcall_requests_total', { outcome: drafts.length > 0 ? 'requested' : 'repeated' });
    if (mayTellFacts(context.cluster, agentKey)) {
      await facts.put(ask.body.clusterId, ask.body.facts, services.epoch);
    }
    // A new request cannot have been decided yet when it was written; only a repetition has to look.
    const record = drafts.length > 0 ? withRequest(context.cluster, drafts[0]?.section) : context.cluster;
    return standing(record, agentKey, context.nowMs);
  }

  /**
   * @param nowMs - from before the record was read: credentials must be older than whatever takes their key back after that
   */
  function standing(record: ClusterRecord, agentKey: string, nowMs: number): AnswerResult {
    const about = { record, agentKey, nowMs, random: Math.random() };
    return standingResult(standingOf(record, agentKey), about, settings);
  }

  async function knownCluster(clusterId: string, agentKey: string): Promise<ClusterRecord> {
    const record = clusterRecord(await log.read({ kind: 'cluster', id: clusterId }));
    const { kind } = standingOf(record, agentKey);
    if (kind === 'unknown')
      throw new RollcallError('TOKEN_UNKNOWN', `this key is not known for the cluster "${clusterId}"`);
    return record;
  }

  async function renew(agentKey: string, ask: AskOf<'renew'>): Promise<AnswerResult> {
    const nowMs = Date.now();
    return standing(await knownCluster(ask.body.clusterId, agentKey), agentKey, nowMs);
  }

  async function takeFacts(agentKey: string, ask: AskOf<'facts'>): Promise<AnswerResult> {
    const nowMs = Date.now();
    const record = await knownCluster(ask.body.clusterId, agentKey);
    if (record.decision?.approvedKey !== agentKey) return standing(record, agentKey, nowMs);
    await facts.put(ask.body.clusterId, ask.body.facts, services.epoch);
    return { kind: 'done' };
  }

  async function resultOf(received: ReceivedAsk): Promise<AnswerResult> {
    const { ask, agentKey } = received;
    if (ask.hub !== settings.hubId) {
      return refusalResult({
        code: 'HUB_WRONG',
        message: `the request is for the hub "${ask.hub}", this is "${settings.hubId}"`,
      });
    }
    switch (ask.verb) {
      case 'join':
        return inSpan(stepOf(received), (traceparent) =>
          join(received, ask, { correlation: ask.id, traceparent }),
        );
      case 'renew':
        return renew(agentKey, ask);
      case 'facts':
        return takeFacts(agentKey, ask);
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
    const startedMs = performance.now();
    let result: AnswerResult;
    let hasFailed = false;
    try {
      result = await resultOf(received);
    } catch (thrown) {
      hasFailed = true;
      const error = toRollcallError(thrown);
      logger.warn(
        { err: error, verb: ask.verb, correlation: ask.id },
        'an ask could not be answered as asked',
      );
      result = refusalResult({
        code: error.code,
        message: error.code === 'UNEXPECTED' ? 'the hub could not answer' : error.message,
      });
    }
    const { verb } = ask;
    sendAnswer(nc, settings, { agentKey, verb, inReplyTo: ask.id, nowMs: Date.now(), result });
    metrics.count('rollcall_asks_total', { verb, outcome: hasFailed ? 'failed' : result.kind });
    metrics.observe('rollcall_ask_duration_seconds', (performance.now() - startedMs) / 1000, { verb });
  }

  /** The server enforces the sender's key in the subject, so even garbage can be answered to whoever sent it. */
  function refuseUnread(message: Msg, error: RollcallError): void {
    logger.debug({ code: error.code, subject: message.subject }, 'an ask was refused unread');
    const [, , agentKey = '', verb = ''] = message.subject.split('.');
    const outcome = error.code === 'HUB_BUSY' ? 'busy' : 'malformed';
    metrics.count('rollcall_asks_total', { verb, outcome });
    if (!isPublicNkey(agentKey, 'user') || verb === '') return;
    const result = refusalResult({ code: error.code, message: error.message.slice(0, 500) });
    sendAnswer(nc, settings, { agentKey, verb, inReplyTo: '', nowMs: Date.now(), result });
  }

  async function answerWhatever(message: Msg): Promise<void> {
    try {
      await answer(message);
    } catch (thrown) {
      logger.error({ err: toRollcallError(thrown) }, 'an ask was not answered');
    }
  }

  function take(message: Msg): void {
    const agentKey = message.subject.split('.')[2] ?? '';
    const openBefore = openOf.get(agentKey) ?? 0;
    if (open.size >= maxOpenAsks || openBefore >= maxOpenAsksOfOneAgent) {
      refuseUnread(message, new RollcallError('HUB_BUSY', 'too many requests are being answered'));
      return;
    }
    openOf.set(agentKey, openBefore + 1);
    const work = answerWhatever(message).finally(() => {
      open.delete(work);
      const left = (openOf.get(agentKey) ?? 1) - 1;
      if (left > 0) openOf.set(agentKey, left);
      else openOf.delete(agentKey);
    });
    open.add(work);
  }

  const subscription = nc.subscribe('rollcall.ask.*.*', {
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

function stepOf({ ask }: ReceivedAsk) {
  return {
    name: `registrar ask ${ask.verb}`,
    kind: 'server',
    traceparent: ask.traceparent,
    attributes: { 'rollcall.service': 'registrar', 'rollcall.correlation': ask.id },
  } as const;
}

/** The record as it is after our own append, without reading it again. */
function withRequest(record: ClusterRecord, section: unknown): ClusterRecord {
  return { ...record, identity: section as ClusterRecord['identity'] };
}
