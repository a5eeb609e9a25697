import type { ClusterRecord } from '@rollcall/shared/events';
import type { Refusal } from './refusal.ts';

/** Where a key stands with its cluster, by what has been decided. */
export type Standing =
  | { readonly kind: 'member' }
  | { readonly kind: 'waiting'; readonly reason: string; readonly message: string }
  | { readonly kind: 'refused'; readonly refusal: Refusal }
  | { readonly kind: 'unknown' };

/**
 * Says what a key may have. Member credentials are given by the approver's own last decision and by nothing else.
 * A verdict about another request or another key is not one about this.
 */
export function standingOf({ identity, decision }: ClusterRecord, agentKey: string): Standing {
  if (!identity || identity.state === 'left') return { kind: 'unknown' };
  if (decision?.approvedKey === agentKey) return { kind: 'member' };
  if (identity.request.key !== agentKey) {
    const wasRevoked = decision?.revokedKeys.some(({ key }) => key === agentKey) ?? false;
    return wasRevoked
      ? { kind: 'refused', refusal: { code: 'CLUSTER_REVOKED', message: 'this key was taken back' } }
      : { kind: 'unknown' };
  }
  if (identity.state === 'refused') return { kind: 'unknown' };
  if (decision?.requestId !== identity.request.id) {
    return { kind: 'waiting', reason: 'Pending', message: 'the request has not been judged yet' };
  }
  switch (decision.verdict) {
    case 'denied':
    case 'banned':
      return {
        kind: 'refused',
        refusal: { code: 'CLUSTER_DENIED', message: `${decision.reason}: ${decision.message}` },
      };
    case 'revoked':
    case 'leaving':
      return {
        kind: 'refused',
        refusal: { code: 'CLUSTER_REVOKED', message: `${decision.reason}: ${decision.message}` },
      };
    default:
      return { kind: 'waiting', reason: decision.reason, message: decision.message };
  }
}
