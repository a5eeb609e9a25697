import type { Facts } from '@rollcall/shared/bus';
import { toRollcallError } from '@rollcall/shared/errors';
import type { JoinBody, MemberClaim } from '@rollcall/shared/protocol';
import { type RequestContent, encodeRequest } from '../protocol/request-message.ts';
import { clockAhead } from './measure-clock-skew.ts';
import type { FactsReport } from '../facts/facts-report.ts';
import type { HubLink } from './hub-connection.ts';
import { requestFor } from './registration.ts';
import type { Session } from './session.ts';

export interface RequesterOptions {
  readonly request: Pick<JoinBody, 'clusterId' | 'clusterName' | 'labels' | 'clusterType' | 'mode'> & {
    readonly clientId?: string;
  };
  readFacts(): Promise<Facts>;
  memberProof(agentKey: string): Promise<MemberClaim | undefined>;
  readonly factsReport: Pick<FactsReport, 'sent'>;
}

/** Asks the hub, signed by the key of the connection that it goes over. */
export interface Sending {
  /** How far our clock is certainly ahead of the hub's, by the newest reply; negative where it is behind. */
  clockAheadMs(): number;
  /** @returns the id of the request */
  send(over: HubLink, content: RequestContent): string;
  /** The id of the request that was sent last. */
  last(): string | undefined;
  /** The hub answered that request at this time of its own: if it was our newest, we know how far its clock is ahead. */
  answered(requestId: string, atHubMs: number): void;
}

export interface Requester {
  /** Looks at when the next request is due, over the connection there is now. */
  whenDue(): void;
  stop(): void;
}

/** Longer waits than Node's timers take are cut; what is due is looked at again then. */
const longestTimerMs = 86_400_000;

export function createSending(session: Session): Sending {
  let lastRequestId: string | undefined;
  let hubAheadMs = 0;
  let clockAheadMs = 0;
  let lastRequestAtMs = 0;
  return {
    clockAheadMs: () => clockAheadMs,
    send(over, content) {
      const message = encodeRequest(content, {
        hubId: session.stateStore.state.hubId,
        ownKey: over.key,
        tokenKey: content.verb === 'join' ? session.token?.key : undefined,
        nextKey: content.verb === 'rotate' ? session.keys.next() : undefined,
        hubAheadMs,
      });
      lastRequestId = message.id;
      lastRequestAtMs = Date.now();
      over.publish(message.subject, message.data);
      session.logger.debug({ verb: content.verb, correlation: message.id }, 'asked');
      return message.id;
    },
    last: () => lastRequestId,
    answered(requestId, atHubMs) {
      // What answers our newest request was made just now; anything else may be old.
      if (requestId !== lastRequestId) return;
      const nowMs = Date.now();
      hubAheadMs = atHubMs - nowMs;
      clockAheadMs = clockAhead({ signedAtMs: lastRequestAtMs, atHubMs, nowMs });
    },
  };
}

/** Asks to join, to renew or to leave, whichever is due, until it is answered. */
export function createRequester(session: Session, { send }: Sending, options: RequesterOptions): Requester {
  const { clusterId, stateStore, signal, logger } = session;
  let timer: NodeJS.Timeout | undefined;

  async function content(over: HubLink): Promise<RequestContent | undefined> {
    const due = requestFor(session.registration, over.role);
    if (due === undefined) return undefined;
    if (due.verb === 'leave') return { verb: 'leave', body: { clusterId, done: due.done } };
    const { verb } = due;
    const proof = options
      .memberProof(over.key.publicKey)
      .then((member) => (member === undefined ? {} : { member }));
    if (verb === 'renew') return { verb, body: { clusterId, ...(await proof) } };
    // The hub must not learn of a key that a crash could lose.
    const [facts, member] = await Promise.all([options.readFacts(), proof, stateStore.kept()]);
    // A hub that knows us has no use for them.
    const former =
      session.registration.joining.status === 'forgotten' ? stateStore.state.member?.jwt : undefined;
    const formerJwt = former === undefined ? {} : { formerJwt: former };
    const tokenKey = session.token === undefined ? {} : { tokenKey: session.token.key.publicKey };
    session.tell('register', `asking to join as "${options.request.clusterName}"`);
    return { verb, body: { ...options.request, ...tokenKey, ...member, ...formerJwt, facts } };
  }

  async function ask(over: HubLink): Promise<void> {
    const asked = await content(over);
    if (asked === undefined) return;
    if (over !== session.link || signal.aborted) return;
    const requestId = send(over, asked);
    if (asked.verb === 'join') options.factsReport.sent(asked.body.facts, requestId);
    session.dispatch({ kind: 'asked' });
  }

  function whenDue(): void {
    clearTimeout(timer);
    const over = session.link;
    if (over === undefined || over.isClosed() || signal.aborted) return;
    const dueInMs = Math.max(0, session.registration.joining.requestAtMs - Date.now());
    const waitMs = Math.min(dueInMs, longestTimerMs);
    timer = setTimeout(() => {
      if (waitMs < dueInMs) return whenDue();
      ask(over).catch(
        (error: unknown) => signal.aborted || logger.error({ err: toRollcallError(error) }, 'could not ask'),
      );
    }, waitMs);
  }

  return {
    whenDue,
    stop: () => clearTimeout(timer),
  };
}
