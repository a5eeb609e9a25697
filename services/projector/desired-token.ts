import type { TokenRecord } from '@rollcall/shared/events';
import type { ClusterRegistrationToken } from '@rollcall/shared/resources';
import { conditionList, type Judged } from './condition-list.ts';
import { hubTime } from './hub-time.ts';

export type TokenStatus = NonNullable<ClusterRegistrationToken['status']>;

/** Fields that every use changes; they may lag. */
export const tokenUseFields: readonly string[] = ['used', 'lastUsedBy'];

function judge(record: TokenRecord, nowMs: number): Judged | undefined {
  const { declaration, uses } = record;
  if (!declaration) return undefined;
  const { expiresAtMs, declaredAtMs } = declaration;
  const type = 'Ready';
  if (expiresAtMs !== undefined && nowMs >= expiresAtMs) {
    return { type, status: 'False', reason: 'Expired', message: 'create a new token', atMs: expiresAtMs };
  }
  if (uses && declaration.uses !== 'unlimited' && uses.used >= declaration.uses) {
    return {
      type,
      status: 'False',
      reason: 'UsedUp',
      message: 'create a new token',
      atMs: uses.lastUsedAtMs,
    };
  }
  return { type, status: 'True', reason: 'Usable', message: 'clusters may ask with it', atMs: declaredAtMs };
}

/**
 * The status of a token.
 * @returns undefined while the approver has not declared this very object
 */
export function desiredToken(
  record: TokenRecord,
  current: ClusterRegistrationToken,
  nowMs: number,
): TokenStatus | undefined {
  const { declaration, uses, head } = record;
  const judged = judge(record, nowMs);
  if (!declaration || !judged || declaration.withdrawn || declaration.uid !== current.metadata.uid)
    return undefined;
  return {
    conditions: conditionList([judged], current.status?.conditions ?? [], current.metadata.generation),
    expires: declaration.expiresAtMs === undefined ? 'never' : hubTime(declaration.expiresAtMs),
    used: uses?.used ?? 0,
    ...(uses ? { lastUsedBy: uses.lastUsedBy.slice(0, 63) } : {}),
    ...(head ? { observed: { epoch: head.epoch, sequence: head.sequence, digest: head.digest } } : {}),
  };
}

/** When the status changes by time alone: in how many ms from now, or never. */
export function tokenEndsInMs(record: TokenRecord, nowMs: number): number | undefined {
  const endsAtMs = record.declaration?.expiresAtMs;
  return endsAtMs === undefined || endsAtMs <= nowMs ? undefined : endsAtMs - nowMs;
}
