import { join } from 'node:path';
import type { BusCredentials } from '@rollcall/shared/bus';
import { RollcallError } from '@rollcall/shared/errors';
import { otherRoles, userClaims } from '@rollcall/shared/rights';
import { createNkey, encodeJwt, nkeyFromSeed } from '@rollcall/shared/trust';
import type { HubState } from '../up/hub-state.ts';
import { readState } from '../up/private-files.ts';

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
  const path = join(stateDir, 'offline', 'keys.json');
  const offline = readState<{ signers: { hub: string } }>(path);
  if (!offline) throw new RollcallError('KEYS_OFFLINE', `there is no file "${path}"`);
  const key = createNkey('user');
  const nowMs = Date.now();
  const nats = userClaims(otherRoles[role], hub.keys.hub);
  const jwt = encodeJwt(
    { subject: key.publicKey, name: role, nowMs, expiresAtMs: nowMs + lifeMs, nats },
    nkeyFromSeed(offline.signers.hub),
  );
  return { jwt, seed: key.seed };
}
