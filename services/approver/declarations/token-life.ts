import type { EpochRecord, TokenRecord } from '@rollcall/shared/events';
import type { ClusterRegistrationToken } from '@rollcall/shared/resources';
import { annotations } from '@rollcall/shared/resources';

/** Which life of the hub it is: undefined in its first one. */
export interface Life {
  readonly epoch: number;
  readonly restoredAtMs: number;
  /** What people said before it, and counts no more (restored-projection.ts). */
  readonly spent: readonly string[];
}

export function lifeOf({ restored, spent }: Pick<EpochRecord, 'restored' | 'spent'>): Life | undefined {
  return restored && { epoch: restored.epoch, restoredAtMs: restored.atMs, spent };
}

/**
 * Whether a token was made before the hub was restored, and nobody has renewed it since. What became of it in the events that are
 * lost, nobody knows: it may have been used, or taken back.
 *
 * A person's word in this life counts first; then what the hub said in this life; then whatever shows that it is older.
 */
export function isOfFormerLife(
  { metadata, status }: Pick<ClusterRegistrationToken, 'metadata' | 'status'>,
  record: Pick<TokenRecord, 'declaration' | 'lastOf'>,
  life: Life | undefined,
): boolean {
  if (!life) return false;
  const said = metadata.annotations?.[annotations.epoch];
  if (said !== undefined) return said !== String(life.epoch);
  const last = record.lastOf.approver;
  if (last) return last.epoch < life.epoch || record.declaration?.voidSinceEpoch !== undefined;
  const isShownOlder = status?.observed !== undefined && status.observed.epoch < life.epoch;
  return isShownOlder || Date.parse(metadata.creationTimestamp ?? '') <= life.restoredAtMs;
}
