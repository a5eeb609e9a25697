import { isDeepStrictEqual } from 'node:util';
import { RollcallError } from '@rollcall/shared/errors';
import { agentsAccountClaims, type HubKeys } from '@rollcall/shared/rights';
import { decodeJwt, encodeJwt, type JwtClaims, type Nkey } from '@rollcall/shared/trust';
import type { Revocations } from './revocation-list.ts';

/** The account AGENTS as a server has it. */
export interface AccountClaims {
  readonly claims: JwtClaims;
  readonly revocations: Revocations;
}

function withoutRevocations(nats: JwtClaims['nats']): Record<string, unknown> {
  const { revocations: _changes, ...rest } = nats;
  return rest;
}

/**
 * Reads the account that a server has, and refuses to go on from it unless its revocations are all that we would change:
 * who holds our key and can write the stream must not be able to give rights.
 * @throws RollcallError CLAIMS_DIFFER; nothing is signed then
 */
export function readAccountClaims(jwt: string, keys: HubKeys): AccountClaims {
  const claims = decodeJwt(jwt);
  if (claims?.sub !== keys.agents) {
    throw new RollcallError('CLAIMS_DIFFER', 'the server has no valid claims of the account AGENTS');
  }
  const ours = JSON.parse(JSON.stringify({ ...agentsAccountClaims(keys, {}), version: 2 })) as unknown;
  if (!isDeepStrictEqual(withoutRevocations(claims.nats), ours)) {
    const message = 'the claims of the account AGENTS differ from the rights table in more than revocations';
    throw new RollcallError('CLAIMS_DIFFER', message);
  }
  return { claims, revocations: (claims.nats['revocations'] ?? {}) as Revocations };
}

/**
 * Signs the same account with another revocation list. Servers take the newer of two by the second in `iat`, so it is made
 * newer than the one that is there even where clocks differ or the second is the same.
 */
export function signAccountClaims(
  current: AccountClaims,
  revocations: Revocations,
  by: { keys: HubKeys; signer: Nkey; nowMs: number },
): string {
  const { iat, name } = current.claims;
  return encodeJwt(
    {
      subject: by.keys.agents,
      ...(name === undefined ? {} : { name }),
      nowMs: Math.max(by.nowMs, (iat + 1) * 1000),
      nats: agentsAccountClaims(by.keys, revocations),
    },
    by.signer,
  );
}
