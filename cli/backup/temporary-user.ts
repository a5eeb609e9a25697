import type { BusCredentials } from '@rollcall/shared/bus';
import { otherRoles, userClaims } from '@rollcall/shared/rights';
import { createNkey, encodeJwt, nkeyFromSeed } from '@rollcall/shared/trust';
import type { HubState } from '../up/hub-state.ts';
import { readOfflineKeys } from '../up/offline-keys.ts';

const lifeMs = 6 * 3_600_000;

/**
 * A user for one command, made by who holds the hub's keys and stored nowhere.
 * @throws RollcallError KEYS_OFFLINE
 */
export function temporaryUser(
  stateDir: string,
  hub: HubState,
  role: 'backup' | 'restore' | 'mend',
): BusCredentials {
  const { signers } = readOfflineKeys(stateDir);
  const key = createNkey('user');
  const nowMs = Date.now();
  const nats = userClaims(otherRoles[role], hub.keys.hub);
  const jwt = encodeJwt(
    { subject: key.publicKey, name: role, nowMs, expiresAtMs: nowMs + lifeMs, nats },
    nkeyFromSeed(signers.hub),
  );
  return { jwt, seed: key.seed };
}
