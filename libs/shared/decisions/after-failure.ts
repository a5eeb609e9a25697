import type { RollcallError } from '@rollcall/shared/errors';

/** An unexpected error is a bug: it may be gone after a restart, and must not block the queue for ever. */
const maxUnexpectedDeliveries = 5;
const firstDelayMs = 100;
const longestDelayMs = 30_000;

export type NextStep =
  | { readonly kind: 'again'; readonly delayMs: number }
  | { readonly kind: 'bury'; readonly orElseDelayMs: number };

/**
 * What happens to an event whose handler threw: retry, delay and giving up are decided here for all services.
 * @param error - its code says whether trying again can help
 * @param deliveryCount - 1 for the first delivery
 */
export function afterFailure(error: Pick<RollcallError, 'code' | 'retry'>, deliveryCount: number): NextStep {
  const delayMs = Math.min(firstDelayMs * 2 ** Math.min(deliveryCount - 1, 20), longestDelayMs);
  const mayHelp = error.code === 'UNEXPECTED' ? deliveryCount < maxUnexpectedDeliveries : error.retry;
  return mayHelp ? { kind: 'again', delayMs } : { kind: 'bury', orElseDelayMs: delayMs };
}
