import type { BusCredentials } from '@rollcall/shared/bus';
import { otherRoles } from '@rollcall/shared/rights';
import { nkeyFromSeed } from '@rollcall/shared/trust';
import { busUser, type HubState } from '../up/state/hub-state.ts';
import { readOfflineKeys } from '../up/state/offline-keys.ts';

const lifeMs = 6 * 3_600_000;

/**
 * A user for one command, made by who holds the hub's keys and stored nowhere.
 * @throws RollcallError KEYS_OFFLINE
 */
export function temporaryUser(
  stateDir: string,
  hub: HubState,
  role: 'backup' | 'restore' | 'mend' | 'archive',
): BusCredentials {
  const signer = nkeyFromSeed(readOfflineKeys(stateDir).signers.hub);
  const nowMs = Date.now();
  const issuer = { keys: hub.keys, signer, expiresAtMs: nowMs + lifeMs };
  return busUser(otherRoles[role], role, issuer, nowMs);
}
