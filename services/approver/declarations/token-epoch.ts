import type { EpochRecord, TokenRecord } from '@rollcall/shared/events';
import type { ClusterRegistrationToken } from '@rollcall/shared/resources';
import { annotations } from '@rollcall/shared/resources';

/** Which epoch of the hub it is: undefined in its first one. */
export interface HubEpoch {
  readonly epoch: number;
  readonly restoredAtMs: number;
  /** What people said before it, and counts no more (restored-projection.ts). */
  readonly spent: readonly string[];
}

export function hubEpochOf({
  restored,
  spent,
}: Pick<EpochRecord, 'restored' | 'spent'>): HubEpoch | undefined {
  return restored && { epoch: restored.epoch, restoredAtMs: restored.atMs, spent };
}

/**
 * Whether a token was made before the hub was restored, and nobody has renewed it since. What became of it in the events that are
 * lost, nobody knows: it may have been used, or taken back.
 *
 * A person's word in this epoch counts first; then what the hub said in this epoch; then whatever shows that it is older.
 */
export function isOfFormerEpoch(
  { metadata, status }: Pick<ClusterRegistrationToken, 'metadata' | 'status'>,
  record: Pick<TokenRecord, 'declaration' | 'lastOf'>,
  hubEpoch: HubEpoch | undefined,
): boolean {
  if (!hubEpoch) return false;
  const said = metadata.annotations?.[annotations.epoch];
  if (said !== undefined) return said !== String(hubEpoch.epoch);
  const last = record.lastOf.approver;
  if (last) return last.epoch < hubEpoch.epoch || record.declaration?.voidSinceEpoch !== undefined;
  const isShownOlder = status?.observed !== undefined && status.observed.epoch < hubEpoch.epoch;
  return isShownOlder || Date.parse(metadata.creationTimestamp ?? '') <= hubEpoch.restoredAtMs;
}
