import { setTimeout as delay } from 'node:timers/promises';
import { type RollcallError, toRollcallError } from '@rollcall/shared/errors';
import type { Facts } from '@rollcall/shared/bus';
import { type Answer, decodeAnswer } from '@rollcall/shared/protocol/answer';
import type { JoinBody } from '@rollcall/shared/protocol';
import type { Logger } from '@rollcall/shared/service';
import { hubIdOf, type Nkey, type RegistrationToken } from '@rollcall/shared/trust/keys';
import { type AskContent, encodeAsk } from './ask-message.ts';
import { type BackOff, fullJitterMs, refusedRestMs } from './back-off.ts';
import { createBeating } from './beating.ts';
import { type Credential, credentialsToTry, isIssuedLater } from './credential-choice.ts';
import { createFactsReport } from './facts-report.ts';
import type { HubAddress } from './hub-address.ts';
import { dialHub, type HubLink } from './hub-connection.ts';
import { isStale, type JoiningInput, nextJoining, startJoining, verbFor } from './joining.ts';
import type { OnPhase, PhaseDetail, PhaseName } from './phase.ts';
import {
  answeredRefusal,
  errorAsRefusal,
  type Refusal,
  refusalDetail,
  refusedConnection,
} from './refusal.ts';
import type { StateKeeper } from './state-keeper.ts';

export interface Admission {
  readonly clusterId: string;
  readonly clusterName: string;
  readonly namespace: string;
}

/** How patient the agent is; each has a default in main.ts. */
export interface Patience {
  readonly reconnect: BackOff;
  readonly refusedRetryMs: number;
  readonly factsIntervalMs: number;
}

export interface MembershipOptions {
  readonly addresses: readonly HubAddress[];
  /** The hub's CA: found by its pin, or given. Asked again after a connection showed another one. */
  hubCa(options: { again: boolean }): Promise<string>;
  readonly ownKey: Nkey;
  readonly token: RegistrationToken | undefined;
  readonly keeper: StateKeeper;
  readonly request: Pick<JoinBody, 'clusterId' | 'clusterName' | 'labels' | 'clusterType' | 'mode'> & {
    readonly clientId?: string;
  };
  /** Read when the agent starts, so that they are there when it may ask. */
  readonly firstFacts: Promise<Facts>;
  readFacts(): Promise<Facts>;
  memberAnswers(): Promise<boolean>;
  readonly patience: Patience;
  readonly onPhase: OnPhase;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

export interface Membership {
  readonly admitted: Promise<Admission>;
  /** Connects, asks, beats and renews until the signal; never rejects. */
  run(): Promise<void>;
  /** To be called after the signal: says goodbye over the connection there is, and closes it. */
  leave(): Promise<void>;
}

/** A connection that ended sooner counts as a failure, so that one which is cut at once is not made again at once. */
const steadyAfterMs = 10_000;
/** Shorter rests are spent connected. */
const shortRestMs = 15_000;
const beatIntervalBoundsMs = { least: 1000, most: 600_000 };

export function createMembership(options: MembershipOptions): Membership {
  const { keeper, ownKey, addresses, request, patience, signal, logger } = options;
  const { clusterId } = request;
  const admitted = Promise.withResolvers<Admission>();
  let token = options.token;
  let joining = startJoining({ nowMs: Date.now(), renewAtMs: keeper.state.member?.renewAtMs });
  let link: HubLink | undefined;
  let askTimer: NodeJS.Timeout | undefined;
  let adopting: Promise<void> = Promise.resolve();
  let firstFacts: Promise<Facts> | undefined = options.firstFacts;

  const tell = (phase: PhaseName, message: string, detail: PhaseDetail = {}) =>
    options.onPhase({ phase, message, detail });
  const tellRefusal = (phase: PhaseName, refusal: Refusal, retryInMs: number) =>
    tell(phase, refusal.message, refusalDetail(refusal, retryInMs));
  const step = (input: JoiningInput) => {
    const context = { nowMs: Date.now(), random: Math.random(), refusedRetryMs: patience.refusedRetryMs };
    joining = nextJoining(joining, input, context);
  };

  const memberLink = () => (link?.role === 'member' && !link.isClosed() ? link : undefined);
  const beating = createBeating({
    clusterId,
    link: memberLink,
    memberAnswers: options.memberAnswers,
    onMemberChange: (isThere) =>
      tell(
        'member',
        isThere ? "the member's API server answers again" : "the member's API server does not answer",
      ),
  });
  const readFacts = () => {
    const first = firstFacts;
    firstFacts = undefined;
    return first ?? options.readFacts();
  };
  const factsReport = createFactsReport({
    intervalMs: patience.factsIntervalMs,
    read: readFacts,
    send(facts) {
      const member = memberLink();
      if (member) send(member, { verb: 'facts', body: { clusterId, facts } });
      return member !== undefined;
    },
  });

  function send(over: HubLink, content: AskContent): void {
    const tokenKey = content.verb === 'join' ? token?.key : undefined;
    const message = encodeAsk(content, { hubId: keeper.state.hubId, ownKey, tokenKey });
    over.publish(message.subject, message.data);
    logger.debug({ verb: content.verb, correlation: message.id }, 'asked');
  }

  async function ask(over: HubLink): Promise<void> {
    const verb = verbFor(joining, over.role);
    let content: AskContent = { verb: 'renew', body: { clusterId } };
    if (verb === 'join') {
      // The hub must not learn of a key that a crash could lose.
      const [facts] = await Promise.all([readFacts(), keeper.kept()]);
      factsReport.sent(facts);
      const tokenKey = token === undefined ? {} : { tokenKey: token.key.publicKey };
      content = { verb, body: { ...request, ...tokenKey, facts } };
      tell('register', `asking to join as "${request.clusterName}"`);
    }
    if (over !== link || signal.aborted) return;
    send(over, content);
    step({ kind: 'asked' });
    askWhenDue();
  }

  function askWhenDue(): void {
    clearTimeout(askTimer);
    const over = link;
    if (over === undefined || over.isClosed() || signal.aborted) return;
    const dueInMs = Math.max(0, joining.askAtMs - Date.now());
    // Longer waits than Node's timers take are cut; what is due is looked at again then.
    const waitMs = Math.min(dueInMs, 86_400_000);
    askTimer = setTimeout(() => {
      if (waitMs < dueInMs) return askWhenDue();
      ask(over).catch(
        (error: unknown) => signal.aborted || logger.error({ err: toRollcallError(error) }, 'could not ask'),
      );
    }, waitMs);
  }

  function hear(data: Uint8Array, subject: string): void {
    const { state } = keeper;
    const pinned = state.answerKey;
    const answerKeyIsTrusted = (key: string) =>
      pinned === undefined ? hubIdOf(key) === state.hubId : key === pinned;
    const heard = decodeAnswer(data, { agentKey: ownKey.publicKey, answerKeyIsTrusted });
    if (heard === undefined || heard.answer.hub !== state.hubId || signal.aborted) return;
    if (pinned === undefined) keeper.update((old) => ({ ...old, answerKey: heard.answerKey }));
    const { result } = heard.answer;
    if (subject.endsWith('.facts')) {
      // What a member may do is not decided over its facts; those that were not taken are sent again.
      if (result.kind === 'done') factsReport.confirmed();
      else logger.warn({ reason: result.kind }, 'facts not taken');
      return;
    }
    follow(heard.answer);
  }

  function follow({ result, atMs }: Answer): void {
    if (isStale(joining, { atHubMs: atMs, result })) return;
    if (result.kind !== 'refused') factsReport.confirmed();
    step({ kind: 'answered', atHubMs: atMs, result });
    switch (result.kind) {
      case 'waiting':
        waitWith(result.credentials);
        tell('waiting', result.message, { reason: result.reason, clusterId });
        break;
      case 'refused':
        tellRefusal('refused', answeredRefusal(result), joining.askAtMs - Date.now());
        // There is nothing to wait for over a connection of that kind; the next one is made when it is time to ask again.
        if (
          (link?.role === 'token' || link?.role === 'returning') &&
          joining.askAtMs - Date.now() > shortRestMs
        )
          void link.close();
        break;
      case 'admitted':
        adopting = adopting.then(() => adopt(result, atMs));
        break;
      case 'done':
        break;
    }
    askWhenDue();
  }

  function waitWith(credentials: string | undefined): void {
    // A member whose connection stands is one, whatever else is being decided about it.
    if (credentials === undefined || link?.role === 'member') return;
    if (!isIssuedLater(credentials, keeper.state.waitingJwt)) return;
    keeper.update((old) => ({ ...old, member: undefined, waitingJwt: credentials }));
  }

  /** Make before break: the connection with the new credentials stands and beats before the old one ends. */
  async function adopt(result: Answer['result'] & { kind: 'admitted' }, atMs: number): Promise<void> {
    const { credentials: jwt, clusterName, namespace } = result;
    const known = keeper.state.member;
    const isUsed = known?.jwt === jwt && link?.role === 'member';
    if (isUsed || (known?.jwt !== jwt && !isIssuedLater(jwt, known?.jwt)) || signal.aborted) return;
    const beatIntervalMs = Math.min(
      beatIntervalBoundsMs.most,
      Math.max(beatIntervalBoundsMs.least, result.beatIntervalMs),
    );
    const member = { jwt, clusterName, namespace, beatIntervalMs, renewAtMs: joining.askAtMs };
    keeper.update((old) => ({ ...old, waitingJwt: undefined, member }));
    token = undefined;
    if (link?.role === 'member') tell('renew', 'fresh credentials');
    else tell('approve', `admitted as "${clusterName}"`, { clusterId, clusterName });
    logger.debug({ clusterId, delayMs: Date.now() - atMs }, 'credentials received');
    try {
      const next = await dial({ role: 'member', jwt });
      if (next && !signal.aborted) return await take(next);
      await next?.close();
    } catch (error) {
      logger.warn({ err: toRollcallError(error) }, 'no connection with the new credentials yet');
    }
    if (link?.role === 'member') {
      step({ kind: 'asked' });
      askWhenDue();
    } else {
      // The loop connects with what was just kept.
      await link?.close();
    }
  }

  async function take(next: HubLink): Promise<void> {
    const before = link;
    next.subscribe(`rollcall.answer.${ownKey.publicKey}.>`, hear);
    link = next;
    step({ kind: 'connected', role: next.role });
    askWhenDue();
    const { member } = keeper.state;
    if (next.role === 'member' && member) {
      beating.beat(member.beatIntervalMs);
      await next.flush().catch(() => undefined);
      if (!next.isClosed() && before?.role !== 'member') {
        tell(
          'ready',
          `"${member.clusterName}" is a member; beating every ${member.beatIntervalMs / 1000} s`,
          {
            clusterId,
            clusterName: member.clusterName,
          },
        );
      }
      admitted.resolve({ clusterId, clusterName: member.clusterName, namespace: member.namespace });
      factsReport.start();
    }
    await before?.close();
  }

  /** A hub with a new CA is found by its pin again; where a CA was given, that one stays what is trusted. */
  async function dial(credential: Credential): Promise<HubLink | undefined> {
    const caPem = keeper.state.hubCaPem ?? (await options.hubCa({ again: false }));
    try {
      return await dialTrusting(caPem, credential);
    } catch (error) {
      if (toRollcallError(error).code !== 'HUB_CA_WRONG') throw error;
      const fresh = await options.hubCa({ again: true });
      if (fresh === caPem) throw error;
      return await dialTrusting(fresh, credential);
    }
  }

  async function dialTrusting(caPem: string, credential: Credential): Promise<HubLink | undefined> {
    const dialed = await dialHub(credential, { addresses, caPem, clusterId, ownKey, tokenKey: token?.key });
    if (dialed && keeper.state.hubCaPem !== caPem) keeper.update((old) => ({ ...old, hubCaPem: caPem }));
    return dialed;
  }

  /** Tries what the agent has, best first. */
  async function connectBest(): Promise<{ link?: HubLink; shown: Credential['role'][] }> {
    const shown: Credential['role'][] = [];
    for (const credential of credentialsToTry(keeper.state, {
      hasToken: token !== undefined,
      nowMs: Date.now(),
    })) {
      const dialed = await dial(credential);
      if (dialed) return { link: dialed, shown };
      shown.push(credential.role);
    }
    return { shown };
  }

  async function untilGone(): Promise<void> {
    for (let current = link; current !== undefined;) {
      await current.closed;
      await adopting;
      if (current === link) return;
      current = link;
    }
  }

  function failed(error: RollcallError, failures: number): number {
    const isForPeople = error.code === 'HUB_CA_WRONG';
    const waitMs = isForPeople
      ? refusedRestMs(patience.refusedRetryMs, failures, Math.random())
      : fullJitterMs(patience.reconnect, failures, Math.random());
    tellRefusal('connect', errorAsRefusal(error), waitMs);
    return waitMs;
  }

  async function run(): Promise<void> {
    let failures = 0;
    let refusals = 0;
    while (!signal.aborted) {
      let waitMs: number;
      try {
        const { link: dialed, shown } = await connectBest();
        if (dialed === undefined) {
          waitMs = refusedRestMs(patience.refusedRetryMs, ++refusals, Math.random());
          tellRefusal('refused', refusedConnection(shown), waitMs);
        } else {
          if (signal.aborted) return await dialed.close();
          refusals = 0;
          const connectedAtMs = Date.now();
          tell('connect', `connected to the hub with its ${dialed.role} credentials`);
          await take(dialed);
          await untilGone();
          failures = Date.now() - connectedAtMs < steadyAfterMs ? failures + 1 : 1;
          const restMs =
            joining.standing === 'refused' && link?.role !== 'member' ? joining.askAtMs - Date.now() : 0;
          waitMs = Math.max(restMs, fullJitterMs(patience.reconnect, failures, Math.random()));
        }
      } catch (thrown) {
        failures++;
        waitMs = failed(toRollcallError(thrown), failures);
      }
      await delay(waitMs, undefined, { signal }).catch(() => undefined);
    }
  }

  return {
    admitted: admitted.promise,
    run,
    async leave() {
      clearTimeout(askTimer);
      beating.goodbye();
      beating.stop();
      factsReport.stop();
      await adopting;
      await link?.close();
    },
  };
}
