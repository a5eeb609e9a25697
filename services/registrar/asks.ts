import type { Msg, NatsConnection } from '@nats-io/transport-node';
import type { EventLog, FactStore, Trace } from '@rollcall/shared/bus';
import { decideAndAppend } from '@rollcall/shared/decisions';
import { RollcallError, toRollcallError } from '@rollcall/shared/errors';
import {
  type ClusterRecord,
  clusterRecord,
  isTokenVoid,
  keyAggregate,
  keyRecord,
  nameRecord,
  type TokenRecord,
} from '@rollcall/shared/events';
import { type AnswerResult, decodeAsk, type ReceivedAsk, refuseStaleAsk } from '@rollcall/shared/protocol';
import type { Logger, Metrics } from '@rollcall/shared/service';
import { inSpan } from '@rollcall/shared/tracing';
import { isPublicNkey, isSignedBy, tokenIdOf } from '@rollcall/shared/trust';
import {
  type AnswerSettings,
  isTrouble,
  refusalResult,
  rotateKeyOf,
  sendAnswer,
  standingResult,
} from './answer.ts';
import { paceFor } from './beat-interval.ts';
import { createAskBudget } from './ask-budget.ts';
import { type FloodCutter, onlyRefused } from './cut-floods.ts';
import { type FormerLife, isForgotten, judgeFormerMember } from './former-member.ts';
import { type JoinContext, refuseShape } from './join-request.ts';
import { createJoinTurns, type TurnJoin } from './join-turns.ts';
import { decidePin, pinMember, pinOf } from './member-pin.ts';
import { judgeMemberProof, shownIssuer } from './member-proof.ts';
import { decideRotated, noteRotated } from './key-rotation.ts';
import { judgeLeave } from './leave.ts';
import type { Refusal } from './refusal.ts';
import { standingOf } from './standing.ts';
import { createBuckets } from './token-bucket.ts';

export interface AskServices {
  /** For answers: not the connection that is heard, so that a flood of asks delays neither them nor what is read for them. */
  readonly speaking: NatsConnection;
  readonly log: EventLog;
  readonly facts: FactStore;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly epoch: number;
  readonly reservedNames: readonly string[];
  readonly settings: AnswerSettings;
  readonly floods: Pick<FloodCutter, 'found' | 'isUnheard'>;
  /** Why a request that is new cannot be taken now, however good it is. */
  refuseNew(tokenId: string | undefined): Refusal | undefined;
  /** In a hub that was restored. */
  readonly formerLife?: FormerLife | undefined;
  /** Answers verb `access`. */
  access(received: ReceivedAsk): Promise<AnswerResult>;
  /** Answers verb `rotate`. */
  rotate(received: ReceivedAsk): Promise<AnswerResult>;
}

const refusalsStoredPerMinute = 60;
/** One token may be refused so often, whatever keys show it: some hundred agents that were given a token for fewer, and no flood. */
const refusalsOfOneToken = { burst: 100, perSecond: 2 };
const rememberedTokens = 10_000;
const busyMessage = 'too many requests are being answered';

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
export function answerAsks(hearing: NatsConnection, services: AskServices): { drain(): Promise<void> } {
  const { log, facts, logger, metrics, settings, speaking } = services;
  const turns = createJoinTurns({ log, gather: gatherJoin });
  const open = new Set<Promise<void>>();
  const budget = createAskBudget(services.floods);
  const refusals = createBuckets(refusalsOfOneToken, rememberedTokens);
  const joining = new Map<string, { body: string; reply: Promise<Reply> }>();
  let storedThisMinute = { minute: 0, count: 0 };

  function mayStoreRefusal(nowMs: number): boolean {
    const minute = Math.floor(nowMs / 60_000);
    if (storedThisMinute.minute !== minute) storedThisMinute = { minute, count: 0 };
    return storedThisMinute.count < refusalsStoredPerMinute;
  }

  async function gatherJoin(
    { ask, tokenId }: TurnJoin,
    reading: Promise<TokenRecord | undefined>,
  ): Promise<JoinContext> {
    const { clusterId, clusterName, member } = ask.body;
    const nowMs = Date.now();
    const [cluster, token, name, key] = await Promise.all([
      log.read({ kind: 'cluster', id: clusterId }),
      reading,
      log.read({ kind: 'name', id: clusterName }),
      log.read(keyAggregate(ask.agentKey)),
    ]);
    const record = clusterRecord(cluster);
    const { agentKey } = ask;
    const { formerJwt } = ask.body;
    const formerMember =
      formerJwt !== undefined && services.formerLife && isForgotten(record)
        ? judgeFormerMember(formerJwt, { agentKey, clusterId, nowMs }, services.formerLife)
        : undefined;
    const proofContext = { hubId: settings.hubId, agentKey, nowMs };
    return {
      cluster: record,
      token,
      formerMember,
      tokenIsVoid: token !== undefined && isTokenVoid(token, services.epoch),
      name: nameRecord(name),
      key: keyRecord(key),
      member: judgeMemberProof(member, pinOf(record), proofContext),
      reservedNames: services.reservedNames,
      refuseNew: services.refuseNew(tokenId),
      nowMs,
      mayStoreRefusal: mayStoreRefusal(nowMs),
    };
  }

  /** One registration, as the hub sees it: check the shape, judge, keep, and say where the key stands now. */
  async function join(received: ReceivedAsk, ask: AskOf<'join'>, trace: Trace): Promise<AnswerResult> {
    const { agentKey, envelope } = received;
    const shape = refuseShape(ask.body);
    if (shape) return refusalResult(shape);
    const { tokenKey } = ask.body;
    const isKey = tokenKey !== undefined && isPublicNkey(tokenKey, 'user');
    const tokenProven = isKey && isSignedBy(envelope, tokenKey);
    // Only who holds the token waits with its other holders: anybody can name it.
    const turn = tokenProven ? tokenKey : agentKey;
    if (!budget.enterWithToken(turn)) return refusalResult({ code: 'HUB_BUSY', message: busyMessage });
    const { verdict, context } = await turns
      .judge(turn, {
        ask: { id: ask.id, agentKey, tokenProven, askedAtMs: ask.atMs, body: ask.body },
        trace,
        tokenId: isKey ? tokenIdOf(tokenKey) : undefined,
      })
      .finally(() => budget.leaveWithToken(turn));
    const { drafts, refusal } = verdict;
    if (refusal) {
      if (drafts.length > 0) storedThisMinute.count++;
      metrics.count('rollcall_requests_total', { outcome: refusal.code });
      // Proven: who only names a token must not have its holders kept out.
      const isTokens = tokenProven && !isTrouble(refusal.code);
      if (isTokens && !refusals.take(tokenKey, Date.now())) services.floods.found(agentKey, onlyRefused);
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
    const record = await knownCluster(clusterId, agentKey);
    const { hubId } = settings;
    const shown = member && shownIssuer(member, { hubId, agentKey, nowMs });
    if (shown && decidePin(record, { agentKey, shown }).length > 0)
      await pinMember(log, { clusterId, agentKey, shown }, { correlation: ask.id });
    if (decideRotated({ record, nowMs }, agentKey).length > 0)
      await noteRotated(log, { clusterId, agentKey, correlation: ask.id });
    return standing(record, agentKey, nowMs);
  }

  async function leave(agentKey: string, ask: AskOf<'leave'>): Promise<AnswerResult> {
    const { clusterId, done } = ask.body;
    const { context, drafts } = await decideAndAppend(
      log,
      {
        async gather() {
          const nowMs = Date.now();
          return { record: await knownCluster(clusterId, agentKey), nowMs };
        },
        decide: (given) => judgeLeave({ agentKey, done }, given),
      },
      { correlation: ask.id, traceparent: ask.traceparent },
    );
    const record = drafts.length > 0 ? withRequest(context.record, drafts[0]?.section) : context.record;
    // Whoever asked to leave hears `leave` when the approver has decided it; until then nothing has changed for it.
    return drafts.length > 0 && !done ? { kind: 'done' } : standing(record, agentKey, context.nowMs);
  }

  async function takeFacts(agentKey: string, ask: AskOf<'facts'>): Promise<AnswerResult> {
    const nowMs = Date.now();
    const record = await knownCluster(ask.body.clusterId, agentKey);
    if (record.decision?.approvedKey !== agentKey) return standing(record, agentKey, nowMs);
    await facts.put(ask.body.clusterId, ask.body.facts, services.epoch);
    return { kind: 'done', ...paceFor(record, settings), ...rotateKeyOf(record, agentKey) };
  }

  /**
   * Who asks the same again before it is answered gets that answer too, and costs no second look: when many come at once, those
   * that wait ask again every few seconds (of 300 at once, three of four joins were such: measured).
   */
  function joinOnce(received: ReceivedAsk, ask: AskOf<'join'>): Promise<Reply> {
    const { agentKey } = received;
    const body = JSON.stringify(ask.body);
    const known = joining.get(agentKey);
    if (known?.body === body) return known.reply;
    const reply = asOfNow(() =>
      inSpan(stepOf(received), (traceparent) => join(received, ask, { correlation: ask.id, traceparent })),
    ).finally(() => {
      if (joining.get(agentKey)?.reply === reply) joining.delete(agentKey);
    });
    joining.set(agentKey, { body, reply });
    return reply;
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
        return joinOnce(received, ask);
      case 'renew':
        return asOfNow(() => renew(agentKey, ask));
      case 'facts':
        return asOfNow(() => takeFacts(agentKey, ask));
      case 'access':
        return asOfNow(() => services.access(received));
      case 'leave':
        return asOfNow(() => leave(agentKey, ask));
      case 'rotate':
        return asOfNow(() => services.rotate(received));
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

/**
 * What is answered, and since when that is known. The agent drops what is older than what it has heard: a "waiting" that was found
 * before the decision and is sent after it must not hide it, or the agent asks again only after half a minute (seen in a burst).
 */
interface Reply {
  readonly result: AnswerResult;
  readonly asOfMs: number;
}

/** Takes the time before anything is read. */
async function asOfNow(find: () => Promise<AnswerResult>): Promise<Reply> {
  const asOfMs = Date.now();
  return { asOfMs, result: await find() };
}

function refused(refusal: Refusal): Reply {
  return { asOfMs: Date.now(), result: refusalResult(refusal) };
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
