import { isNewer, isTakenBack, type TokenRecord } from '@rollcall/shared/events';

/**
 * What is to be done about the Secret of a token that the hub makes.
 *
 * - `make`: it is asked for, and there is no word yet that it is there
 * - `reword`: the token was changed since; what the Secret hands out beside it may be of before
 * - `remove`: the token has ended; the Secret goes, whether or not anybody told that it was made
 */
export type PublicationStep = 'make' | 'reword' | 'remove';

/** When a token came to its end, in hub time; undefined: it is good. Renewing the token later makes no new Secret. */
export function endedAtMs(
  asked: TokenRecord,
  ofKey: TokenRecord | undefined,
  nowMs: number,
): number | undefined {
  const { declaration } = asked;
  const { uses } = ofKey ?? {};
  if (!declaration) return undefined;
  if (isTakenBack(declaration)) return asked.lastOf.approver?.timeMs ?? nowMs;
  if (declaration.expiresAtMs !== undefined && declaration.expiresAtMs <= nowMs)
    return declaration.expiresAtMs;
  const isSpent = uses !== undefined && declaration.uses !== 'unlimited' && uses.used >= declaration.uses;
  return isSpent ? uses.lastUsedAtMs : undefined;
}

/**
 * @param asked - the aggregate on which the token was asked for
 * @param ofKey - the aggregate of its key, once there is one
 */
export function publicationStep(
  asked: TokenRecord,
  ofKey: TokenRecord | undefined,
  nowMs: number,
): PublicationStep | undefined {
  const { declaration, publication, lastOf } = asked;
  if (!declaration) return undefined;
  if (endedAtMs(asked, ofKey, nowMs) !== undefined) return 'remove';
  if (declaration.problem) return undefined;
  if (publication?.state !== 'published') return 'make';
  const { approver: declared, 'rbac-provisioner': told } = lastOf;
  return declared && told && isNewer(declared, told) ? 'reword' : undefined;
}
