import { isDeepStrictEqual } from 'node:util';
import { RollcallError } from '@rollcall/shared/errors';
import type { AgentRole, AgentSigners, HubKeys } from '@rollcall/shared/rights';
import { decodeJwt, encodeJwt, type JwtClaims, type Nkey } from '@rollcall/shared/trust';
import type { Revocations } from './revocation-list.ts';

/** What this hub's own file says of keys: those that are to be good, and those that were and may still stand somewhere. */
export interface KnownKeys {
  readonly keys: HubKeys;
  /** The account AGENTS without revocations, by who made the file: his version may give agents other rights than this one knows. */
  readonly agentsAccount: Readonly<Record<string, unknown>>;
  /** Generations that were dropped: found in claims, they are taken out, and are no reason to refuse. */
  readonly formerAgentSigners: readonly AgentSigners[];
}

/** The account AGENTS as a server has it. */
export interface AccountClaims {
  readonly claims: JwtClaims;
  readonly revocations: Revocations;
  /** Whether its signing keys are those that are to be good: no more, no fewer. */
  readonly keysAreRight: boolean;
}

/** As it comes back from JSON: absent and undefined are the same there. */
const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value));
const inOrder = (scopes: readonly unknown[]): string[] =>
  scopes.map((scope) => JSON.stringify(scope)).toSorted();

function areRevocations(value: unknown): value is Revocations {
  return (
    typeof value === 'object' &&
    value !== null &&
    !Array.isArray(value) &&
    Object.values(value).every((time) => Number.isSafeInteger(time))
  );
}

/** What a signing key is for, beside its rights. */
interface Scope {
  readonly key: string;
  readonly role: AgentRole;
}

/** What the account AGENTS may say by this hub's own file, beside its revocations. */
export interface ExpectedAccount {
  readonly agents: string;
  /** Signing keys that are to be good. */
  readonly wanted: readonly unknown[];
  /** These, and those that were and may still stand there. */
  readonly known: readonly unknown[];
  /** Everything else, word for word. */
  readonly rest: Readonly<Record<string, unknown>>;
}

export function expectedAccount({ keys, agentsAccount, formerAgentSigners }: KnownKeys): ExpectedAccount {
  const ours = plain({ ...agentsAccount, version: 2 }) as JwtClaims['nats'];
  const { signing_keys: wanted, ...rest } = ours as { signing_keys: Scope[] };
  const scopes = wanted.filter(({ key, role }) => key === keys.agentSigners[role]);
  const former = formerAgentSigners.flatMap((signers) =>
    scopes.map((scope) => ({ ...scope, key: signers[scope.role] })),
  );
  return { agents: keys.agents, wanted, known: [...wanted, ...former], rest };
}

/**
 * Reads the account that a server has, and refuses to go on from it unless revocations and generations of signing keys that
 * this hub knows are all that we would change: who holds our key and can write the stream must not be able to give rights.
 * @throws RollcallError CLAIMS_DIFFER; nothing is signed then
 */
export function readAccountClaims(
  jwt: string,
  { agents, known, wanted, rest }: ExpectedAccount,
): AccountClaims {
  const claims = decodeJwt(jwt);
  if (claims?.sub !== agents) {
    throw new RollcallError('CLAIMS_DIFFER', 'the server has no valid claims of the account AGENTS');
  }
  const { revocations = {}, signing_keys: found, ...others } = claims.nats;
  const scopes = Array.isArray(found) ? found : [];
  const areKnown = scopes.every((scope) => known.some((one) => isDeepStrictEqual(one, scope)));
  if (!areKnown || !isDeepStrictEqual(others, rest)) {
    const message =
      'the claims of the account AGENTS differ from what the file of the account-controller has in more than revocations and known signing keys';
    throw new RollcallError('CLAIMS_DIFFER', message);
  }
  if (!areRevocations(revocations)) {
    throw new RollcallError('CLAIMS_DIFFER', 'the revocation list of the account AGENTS is none');
  }
  const keysAreRight = isDeepStrictEqual(inOrder(scopes), inOrder(wanted));
  return { claims, revocations, keysAreRight };
}

/**
 * Signs the same account with another revocation list, and the signing keys that are to be good. Servers take the newer of
 * two by the second in `iat`, so it is made newer than the one that is there even where clocks differ or the second is the
 * same.
 */
export function signAccountClaims(
  current: Pick<AccountClaims, 'claims'>,
  revocations: Revocations,
  by: Pick<KnownKeys, 'keys' | 'agentsAccount'> & { signer: Nkey; nowMs: number },
): string {
  const { iat, name } = current.claims;
  return encodeJwt(
    {
      subject: by.keys.agents,
      ...(name === undefined ? {} : { name }),
      nowMs: Math.max(by.nowMs, (iat + 1) * 1000),
      nats: { ...by.agentsAccount, ...(Object.keys(revocations).length > 0 ? { revocations } : {}) },
    },
    by.signer,
  );
}
