import type { RollcallError } from '@rollcall/shared/errors';

/** An unexpected error is a bug: it may be gone after a restart, and must not block the queue for ever. */
const mostUnexpected = 5;
/** Long enough for a newer replica of a rolling upgrade to take it; each that waits holds one of the consumer's places. */
const mostUnknownVersion = 5;
const firstDelayMs = 100;
const longestDelayMs = 30_000;

export type NextStep =
  | { readonly kind: 'again'; readonly delayMs: number }
  | { readonly kind: 'dead-letter'; readonly orElseDelayMs: number }
  /** Put aside until a version comes that knows it: nothing is lost, and the queue goes on. */
  | { readonly kind: 'hold'; readonly orElseDelayMs: number };

/**
 * What happens to an event whose handler threw: retry, delay and giving up are decided here for all services.
 * @param error - its code says whether trying again can help
 * @param tries.deliveries - 1 for the first delivery; that the API server was away, or a process died, counts as well
 * @param tries.alike - how often it failed with this code in this process; giving up goes by that alone
 */
export function afterFailure(
  error: Pick<RollcallError, 'code' | 'retry' | 'retryAfterMs'>,
  { deliveries, alike }: { readonly deliveries: number; readonly alike: number },
): NextStep {
  const backOffMs = Math.min(firstDelayMs * 2 ** Math.min(deliveries - 1, 20), longestDelayMs);
  const delayMs = Math.max(backOffMs, error.retryAfterMs ?? 0);
  if (error.code === 'EVENT_VERSION_UNKNOWN' && alike >= mostUnknownVersion)
    return { kind: 'hold', orElseDelayMs: delayMs };
  const mayHelp = error.code === 'UNEXPECTED' ? alike < mostUnexpected : error.retry;
  return mayHelp ? { kind: 'again', delayMs } : { kind: 'dead-letter', orElseDelayMs: delayMs };
}
