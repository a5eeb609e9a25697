import { isNewer } from '@rollcall/shared/events';
import type { RequestStatus } from './find-request.ts';

/**
 * Whether the status says what came of a decision. A failure that stood there before does not: the hub tries again after the
 * decision, and what it shows meanwhile is the old failure, with a newer witness.
 * @param before - the status before the decision was written
 * @param results - that the decision can have
 */
export function isAnswer(
  before: RequestStatus | undefined,
  now: RequestStatus | undefined,
  results: readonly string[],
): boolean {
  if (!results.includes(now?.result ?? '')) return false;
  return now?.result !== 'Failed' || before?.result !== 'Failed' || now.errorMessage !== before.errorMessage;
}

/** Whether the hub has seen the decision, and it fails at the same as before. */
export function failsAsBefore(before: RequestStatus | undefined, now: RequestStatus | undefined): boolean {
  if (now?.result !== 'Failed' || now.observed === undefined) return false;
  return before?.observed === undefined || isNewer(now.observed, before.observed);
}
