import { type RollcallError, toRollcallError } from '@rollcall/shared/errors';
import { say } from '../terminal/output.ts';
import { printable } from '../terminal/printable.ts';

/** One thing that must be so before a cluster can register: what was found, or what is wrong. */
export type CheckOutcome =
  | { readonly name: string; readonly found: string }
  | { readonly name: string; readonly error: RollcallError };

/** @param check - returns what was found; throws what is wrong */
export async function runCheck(name: string, check: () => string | Promise<string>): Promise<CheckOutcome> {
  try {
    return { name, found: await check() };
  } catch (thrown) {
    return { name, error: toRollcallError(thrown) };
  }
}

/**
 * Prints every outcome, so that people mend all of it at once.
 * @throws RollcallError the first that failed
 */
export function reportChecks(outcomes: readonly CheckOutcome[]): void {
  for (const outcome of outcomes) {
    const text =
      'found' in outcome
        ? `ok      ${outcome.name}: ${outcome.found}`
        : `failed  ${outcome.name}: ${outcome.error.message}`;
    say(`[preflight] ${printable(text)}`);
  }
  for (const outcome of outcomes) if ('error' in outcome) throw outcome.error;
}
