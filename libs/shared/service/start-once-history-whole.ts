import { type RollcallError, toRollcallError } from '@rollcall/shared/errors';
import { type HistoryWatch, untilWhole } from './watch-history.ts';

/**
 * Begins the work of a service that was started over a history that is lost, once that is whole again.
 * @param on.failed - told why it could not begin, unless it was stopped first: what it has begun by then nobody can take back, so it
 *   has to end, and be started again
 * @returns when that is over, in whatever way; never rejects
 */
export async function beginOnceWhole(
  history: Pick<HistoryWatch, 'lost'>,
  begin: () => Promise<void>,
  on: { readonly stopped: AbortSignal; failed(why: RollcallError): void },
): Promise<void> {
  try {
    await untilWhole(history, on.stopped);
    await begin();
  } catch (thrown) {
    if (!on.stopped.aborted) on.failed(toRollcallError(thrown));
  }
}
