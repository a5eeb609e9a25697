import { setTimeout as delay } from 'node:timers/promises';
import { RollcallError } from '../errors/index.ts';
import type { Transport, TransportResponse } from './transport.ts';

/** Roles are read within 100 ms of the first answer, the rest of a start takes another second or two (measured, 1.36). */
const retryAfterMs = 500;
const mostAttempts = 10;
/** Whoever is still refused `/readyz` after this time has no right to it. */
const rolesReadWithinMs = 30_000;

/**
 * RBAC's own words, or those of admission that waits for its caches. What an admission policy says is neither: it has been
 * read then.
 */
function maySpeakTooEarly({ status, body }: TransportResponse): boolean {
  if (status !== 403 && status !== 422) return false;
  return (
    (status === 403 && / cannot \w+ (resource|path) /.test(body)) || / not yet (ready|synced) /.test(body)
  );
}

/** Up to ten seconds after a start (measured), twice that where the machine is busy; `/readyz` says yes meanwhile. */
const kindLearnedWithinMs = 20_000;
/** Whoever speaks of a kind like this for longer has lost it: the next start is looked for again only then. */
const startForgottenMs = 600_000;

/** A mutating policy's words about a kind that the server knows from its CRD, and has not learned for policies. */
function isOfKindNotLearned({ status, body }: TransportResponse): boolean {
  return status === 503 && / Kind=\w+ not found\. There can be a delay /.test(body);
}

async function pause(signal: AbortSignal | undefined): Promise<void> {
  await delay(retryAfterMs, undefined, { signal }).catch(() => signal?.throwIfAborted());
}

/**
 * An API server that has just started refuses everybody everything until it has read its roles. That is no answer: taken for
 * one, a cluster that was approved in that moment would have no namespace for good. `/readyz` tells the two apart. It is refused
 * as well for so long, it says no until everything is read, and it is asked only after a refusal that reads like one of these.
 *
 * @returns sends a request until its answer is one. A refusal costs two requests more: the server may have become ready
 *   between refusing and being asked
 * @throws RollcallError KUBE_UNREACHABLE when the server is not ready in five seconds: the caller's to try again
 */
export function createEarlyRefusalCheck(
  transport: Transport,
): (
  send: () => Promise<TransportResponse>,
  options: { timeoutMs: number; signal?: AbortSignal | undefined },
) => Promise<TransportResponse> {
  let refusedSinceMs: number | undefined;
  let unlearnedSinceMs = Number.NEGATIVE_INFINITY;

  /** @returns the first answer that is about the request, or the last one of that time: it is waited once, not by each request */
  async function onceKindIsLearned(
    send: () => Promise<TransportResponse>,
    signal: AbortSignal | undefined,
  ): Promise<TransportResponse> {
    for (;;) {
      const answer = await send();
      if (!isOfKindNotLearned(answer)) return answer;
      const nowMs = performance.now();
      if (nowMs - unlearnedSinceMs > startForgottenMs) unlearnedSinceMs = nowMs;
      if (nowMs - unlearnedSinceMs > kindLearnedWithinMs) return answer;
      await pause(signal);
    }
  }

  async function isReady(options: { timeoutMs: number; signal?: AbortSignal | undefined }): Promise<boolean> {
    const { status } = await transport.send({ ...options, method: 'GET', path: '/readyz' });
    if (status !== 403) {
      refusedSinceMs = undefined;
      return status === 200;
    }
    refusedSinceMs ??= performance.now();
    return performance.now() - refusedSinceMs > rolesReadWithinMs;
  }

  return async (sendOnce, options) => {
    const send = () => onceKindIsLearned(sendOnce, options.signal);
    for (let attempt = 1; attempt <= mostAttempts; attempt++) {
      const answer = await send();
      if (!maySpeakTooEarly(answer)) {
        refusedSinceMs = undefined;
        return answer;
      }
      if (await isReady(options)) return send();
      await pause(options.signal);
    }
    throw new RollcallError(
      'KUBE_UNREACHABLE',
      'the API server is not ready yet: it refuses what it has not read the roles for',
    );
  };
}
