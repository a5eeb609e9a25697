import {
  type ClusterRecord,
  isTakenBack,
  isTombstoned,
  type TokenDeclaration,
  type TokenRecord,
} from '@rollcall/shared/events';
import { isForgotten } from '../members/member-before-restore.ts';

/** What somebody without credentials shows when it connects. All of it is theirs to choose. */
export interface CalloutClaim {
  /** The key that signed the nonce: a token's, or an agent's own. */
  readonly nkey: string;
  readonly sig: string;
  /** With a token: the agent's own key, and its signature of the same nonce. */
  readonly user: string | undefined;
  /** Without a token: member credentials that have ended, if it has any. */
  readonly pass: string | undefined;
  /** The cluster it says it is the agent of. */
  readonly name: string | undefined;
  readonly nonce: string;
}

export type CalloutVerdict =
  | {
      readonly kind: 'admit';
      readonly role: 'token' | 'returning';
      readonly agentKey: string;
      readonly lifeMs: number;
    }
  | { readonly kind: 'refuse'; readonly reason: string };

/** Long enough to ask and to hear; who waits longer has a credential of its own by then. */
export const connectionMs = 120_000;

/** Whether a person took the token back while it was good. One whose object is removed after its end has only ended. */
function isRevoked({ lastOf }: TokenRecord, declaration: TokenDeclaration): boolean {
  const { expiresAtMs = Infinity } = declaration;
  return isTakenBack(declaration) && (lastOf.approver?.timeMs ?? 0) < expiresAtMs;
}

/**
 * Whether a token's holder is let in to ask. Those of expired and used-up tokens, and of ones that are not taken as they stand, are:
 * they hear why they are refused.
 * @param isProven - checks a signature of the nonce; only called for keys the hub knows
 */
export function judgeTokenHolder(
  claim: CalloutClaim & { user: string },
  token: TokenRecord,
  isProven: (key: string, signature: string) => boolean,
): CalloutVerdict {
  const known = token.declaration;
  if (!known || known.publicKey !== claim.nkey || isRevoked(token, known))
    return { kind: 'refuse', reason: 'UnknownToken' };
  if (!isProven(claim.nkey, claim.sig)) return { kind: 'refuse', reason: 'TokenNotProven' };
  if (!isProven(claim.user, claim.pass ?? '')) return { kind: 'refuse', reason: 'KeyNotProven' };
  return { kind: 'admit', role: 'token', agentKey: claim.user, lifeMs: connectionMs };
}

/**
 * Whether an agent that lost its credentials may come back with its own key, to renew or to hear why not. Of a cluster that a
 * restored hub does not know, the ended credentials count as a token does: it may ask.
 * @param checks - cost cryptography, so they are made only where they matter
 */
export function judgeReturning(
  claim: CalloutClaim,
  record: ClusterRecord,
  checks: { isProven(key: string, signature: string): boolean; isMemberBeforeRestore(): boolean },
): CalloutVerdict {
  const { identity, decision } = record;
  const isKnown = identity && (identity.admittedKey === claim.nkey || identity.request.key === claim.nkey);
  // Who was away when its cluster left hears so, and goes; without that it would knock for ever.
  const mayBeForgotten = claim.pass !== undefined && claim.pass !== '' && isForgotten(record);
  if (!isKnown && !mayBeForgotten && !isTombstoned(decision, claim.nkey))
    return { kind: 'refuse', reason: 'UnknownKey' };
  if (!checks.isProven(claim.nkey, claim.sig)) return { kind: 'refuse', reason: 'KeyNotProven' };
  if (!isKnown && mayBeForgotten && !checks.isMemberBeforeRestore())
    return { kind: 'refuse', reason: 'UnknownKey' };
  return { kind: 'admit', role: 'returning', agentKey: claim.nkey, lifeMs: connectionMs };
}
