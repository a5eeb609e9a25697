import { setTimeout as delay } from 'node:timers/promises';
import type { Transport, TransportResponse, TransportRequest } from './transport.ts';

const maxAttempts = 5;
const maxWaitMs = 5_000;
/** Whatever it says: the server may be that of a member, or have said it by mistake, and what waits for it would wait for years. */
const longestMs = 300_000;

/**
 * Sends a request again when the API server asks for that: 429 or 503 with Retry-After, which it only gives for what
 * it did not begin. Five attempts, spread by a quarter so that callers do not come back together. Who is to stay away for longer
 * than 5 s is told at once, and for how long (`KubeApiError.retryAfterMs`).
 */
export async function sendWithRetry(
  transport: Transport,
  request: TransportRequest,
): Promise<TransportResponse> {
  for (let attempt = 1; ; attempt++) {
    const answer = await transport.send(request);
    const waitMs = retryAfterMs(answer);
    if (waitMs === undefined || waitMs > maxWaitMs || attempt === maxAttempts) return answer;
    const spreadMs = waitMs * (1 + Math.random() / 4);
    await delay(spreadMs, undefined, { signal: request.signal }).catch(() =>
      request.signal?.throwIfAborted(),
    );
  }
}

/** How long the server wants to be left alone, five minutes at most; undefined: it does not say, or does not refuse for being busy. */
export function retryAfterMs(answer: TransportResponse): number | undefined {
  if (answer.status !== 429 && answer.status !== 503) return undefined;
  const seconds = Number(answer.headers['retry-after']);
  return Number.isFinite(seconds) && seconds >= 0 ? Math.min(seconds * 1000, longestMs) : undefined;
}
