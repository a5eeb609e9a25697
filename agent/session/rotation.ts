import type { Reply } from '@rollcall/shared/protocol/reply';
import { keyFingerprint } from '@rollcall/shared/trust/keys';
import type { Sending } from './requester.ts';
import { fullJitterMs } from '../hub/back-off.ts';
import { newSeeds } from '../keys/own-keys.ts';
import { answeredRefusal } from '../protocol/refusal-for-people.ts';
import { isLeaving } from './registration.ts';
import type { RotationRequest } from '../keys/rotation-request.ts';
import type { Session } from './session.ts';

export interface RotationOptions {
  readonly sending: Pick<Sending, 'send'>;
  /** Where people ask for one; undefined: only `begin` does. */
  readonly rotationRequest: Pick<RotationRequest, 'read'> | undefined;
  readonly requestEveryMs: number;
}

/** A new key in the place of the agent's own, vouched for by the old one (ADR 10). */
export interface Rotation {
  /** Makes the next key, or goes on with the one that is under way; at once, or when the agent is a member again. */
  begin(rotationRequest?: string): void;
  /** The hub says that a person wants this key replaced. */
  requested(key: string): void;
  /** A member connection is there. */
  connected(): void;
  hear(reply: Reply): void;
  stop(): void;
}

/** A reply takes milliseconds; who gets none asks again, ever more slowly. */
const unanswered = { firstMs: 2000, longestMs: 60_000 };
const leastMs = 1000;
/** The decision is told at once; this is only in case it was missed. */
const undecidedMs = 5000;

export function createRotation(session: Session, options: RotationOptions): Rotation {
  const { clusterId, stateStore, keys, logger, signal } = session;
  let wanted: { readonly rotationRequest?: string } | undefined;
  let requestId: string | undefined;
  let sent = 0;
  let requestTimer: NodeJS.Timeout | undefined;
  let lookTimer: NodeJS.Timeout | undefined;

  function sendIn(delayMs: number): void {
    clearTimeout(requestTimer);
    if (signal.aborted) return;
    requestTimer = setTimeout(() => void send(), delayMs);
    requestTimer.unref();
  }

  async function send(): Promise<void> {
    // The hub must not learn of a key that a crash could lose.
    await stateStore.kept().catch(() => undefined);
    const next = keys.next();
    const over = session.memberLink();
    // Also of an agent that leaves: the hub may have let the next key in, and then the former one cannot leave.
    if (!next || !over || signal.aborted) return;
    sent++;
    requestId = options.sending.send(over, { verb: 'rotate', body: { clusterId, newKey: next.publicKey } });
    sendIn(Math.max(leastMs, fullJitterMs(unanswered, sent, Math.random())));
  }

  function goOn(): void {
    const mayBegin = stateStore.state.next === undefined && !isLeaving(session.registration);
    if (wanted !== undefined && mayBegin && session.memberLink()) {
      const next = { ...newSeeds(), ...wanted };
      stateStore.update((old) => ({ ...old, next }));
      wanted = undefined;
    }
    const next = keys.next();
    if (!next || !session.memberLink()) return;
    const keyFingerprintOfNext = keyFingerprint(next.publicKey);
    session.tell('rotate', `asking the hub to let the next key in (${keyFingerprintOfNext})`, {
      keyFingerprint: keyFingerprintOfNext,
    });
    sent = 0;
    sendIn(0);
  }

  async function lookForRequest(): Promise<void> {
    const rotationRequest = await options.rotationRequest?.read().catch(() => undefined);
    const { rotatedBy, next } = stateStore.state;
    const isNew =
      rotationRequest !== undefined &&
      rotationRequest !== rotatedBy &&
      rotationRequest !== next?.rotationRequest &&
      rotationRequest !== wanted?.rotationRequest;
    if (isNew && !isLeaving(session.registration) && !signal.aborted) begin(rotationRequest);
  }

  function begin(rotationRequest?: string): void {
    wanted = rotationRequest === undefined ? {} : { rotationRequest };
    goOn();
  }

  return {
    begin,
    requested(key) {
      // Said again in each reply until another key is in.
      const isUnderWay = wanted !== undefined || stateStore.state.next !== undefined;
      if (key === keys.current().publicKey && !isUnderWay && !isLeaving(session.registration)) begin();
    },
    connected() {
      goOn();
      if (options.rotationRequest === undefined || lookTimer !== undefined) return;
      void lookForRequest();
      lookTimer = setInterval(() => void lookForRequest(), options.requestEveryMs);
      lookTimer.unref();
    },
    hear({ result, inReplyTo, atMs }) {
      const next = keys.next();
      if (!next) return;
      if (result.kind === 'rotated' && result.key === next.publicKey) {
        // Until it has been let in.
        sendIn(undecidedMs);
        session.dispatch({ kind: 'rotated', admission: result, atMs, agentKey: next.publicKey });
        return;
      }
      // Of what answers an earlier request nothing follows: a later one may have been taken.
      if (inReplyTo !== requestId) return;
      if (result.kind === 'done') sendIn(undecidedMs);
      if (result.kind !== 'refused') return;
      const saidMs = Number.isFinite(result.retryAfterMs) ? result.retryAfterMs : session.refusedRetryMs;
      const retryInMs = Math.min(Math.max(leastMs, saidMs), session.refusedRetryMs);
      session.tellRefusal('rotate', answeredRefusal(result), retryInMs);
      logger.warn({ code: result.code }, 'the hub did not let the next key in');
      sendIn(retryInMs);
    },
    stop() {
      clearTimeout(requestTimer);
      clearInterval(lookTimer);
    },
  };
}
