import { type RollcallError, toRollcallError } from '@rollcall/shared/errors';
import { isForbidden, isNotFound } from '@rollcall/shared/kubernetes/kube-api-error';

/** What one check found. A finding always has a next step: whoever reads it must not have to ask. */
export type Finding =
  | { readonly check: string; readonly outcome: 'ok' | 'skipped'; readonly message: string }
  | {
      readonly check: string;
      readonly outcome: 'finding';
      readonly message: string;
      readonly next: string;
      readonly code?: string;
    };

export const ok = (check: string, message: string): Finding => ({ check, outcome: 'ok', message });
/** Nothing could be said; the message says why. */
export const skipped = (check: string, message: string): Finding => ({ check, outcome: 'skipped', message });
export const finding = (check: string, message: string, next: string): Finding => ({
  check,
  outcome: 'finding',
  message,
  next,
});

export function findingOf(check: string, error: RollcallError): Finding {
  return { check, outcome: 'finding', message: error.message, next: error.hint, code: error.code };
}

/** `1 cluster`, `2 clusters`. */
export const counted = (count: number, what: string) => `${count} ${what}${count === 1 ? '' : 's'}`;

/** Runs one check; what it throws is what it found. */
export async function examine(
  check: string,
  look: () => Finding | readonly Finding[] | Promise<Finding | readonly Finding[]>,
): Promise<readonly Finding[]> {
  try {
    return [await look()].flat();
  } catch (thrown) {
    return [findingOf(check, toRollcallError(thrown))];
  }
}

/** Who may not look is not told that something is wrong, nor where an API server has no such kind; any other trouble is one. */
export async function orSkipped(
  check: string,
  look: () => Promise<readonly Finding[]>,
): Promise<readonly Finding[]> {
  try {
    return await look();
  } catch (error) {
    if (isForbidden(error)) return [skipped(check, `you may not look: ${error.message}`)];
    if (isNotFound(error)) return [skipped(check, 'this API server runs no pods')];
    return [findingOf(check, toRollcallError(error))];
  }
}
