import { inTurn } from '@rollcall/shared/bus';
import { RollcallError } from '@rollcall/shared/errors';
import type { Nkey } from '@rollcall/shared/trust';
import {
  type AccountClaims,
  type KnownKeys,
  expectedAccount,
  type ExpectedAccount,
  readAccountClaims,
  signAccountClaims,
} from './account-claims.ts';
import type { ToldKeys } from './read-revoked-keys.ts';
import { revocationList, type Revocations, sameRevocations } from './revocation-list.ts';
import type { SystemAccount } from './system-account.ts';

export interface KeepClaimsOptions {
  readonly system: Pick<SystemAccount, 'lookUp' | 'push' | 'applied'>;
  /** Asked in each round, because keys roll over while this runs. `signer`: one of the operator's signing keys. */
  known(): KnownKeys & { readonly signer: Nkey };
  readonly longestLifeMs: number;
  nowMs(): number;
  /** Of the hub's trust as it was last told; 0 while it is not known. */
  signersSinceMs?(): number;
  /** @param listed - keys on the list as it is stored, but those whose time has come */
  readRevokedKeys(listed: readonly string[]): Promise<ToldKeys>;
  onPush?(): void;
  /** After each list that was made; `dropped` did not fit, and of these `droppedTakenBack` were not only replaced by agents. */
  onList?(size: number, dropped: number, droppedTakenBack: number): void;
}

/** Rounds in which another replica may push in between. */
const mostRounds = 10;

/**
 * Keeps the account as the stream (revocations) and this hub's own file (signing keys) say.
 *
 * Each pass makes the list from the stream and from what is stored, which a stream that has lost events cannot shorten; compares it with what is stored, and pushes it if it differs; whoever pushed looks
 * again. So whoever pushed last has seen the stream after its push, and a list that a slower replica pushed over a longer one
 * does not stay. Proofs run beside the next pass: with 10,000 keys one takes as long as a push, and a key that is to be cut
 * now must not wait for it.
 * @returns a function that returns the list once every server acts on claims that were made after the call. Calls at the same time
 *   share a pass: one that runs already may have read the stream too early, so they wait for the next.
 * @throws (the returned function) RollcallError CLAIMS_DIFFER, CLAIMS_NOT_APPLIED
 */
export function createClaimsController(options: KeepClaimsOptions): () => Promise<Revocations> {
  const { system, longestLifeMs } = options;
  let lastRead: { jwt: string; claims: AccountClaims } | undefined;
  let expected: { of: KnownKeys['keys']; account: ExpectedAccount } | undefined;
  let newest: Revocations = {};
  let pushAnyway = false;

  /** Decoding the claims of 10,000 keys takes 10 ms, and they are mostly those of the time before. */
  function read(jwt: string): AccountClaims {
    const known = options.known();
    if (expected?.of !== known.keys) {
      expected = { of: known.keys, account: expectedAccount(known) };
      lastRead = undefined;
    }
    if (lastRead?.jwt !== jwt) lastRead = { jwt, claims: readAccountClaims(jwt, expected.account) };
    return lastRead.claims;
  }

  const pass = inTurn(async (): Promise<{ wanted: Revocations; pushed: boolean }> => {
    const known = options.known();
    // The time and the stored claims come before the stream: of two account-controllers, the one that was stopped while it read the stream
    // pushes what is older by its `iat` too, and the servers drop it.
    const nowMs = options.nowMs();
    const storedJwt = await system.lookUp(known.keys.agents);
    const stored = read(storedJwt);
    // One whose time has come leaves the list whatever the stream says of it: for none of those are all approvals read.
    const listed = Object.entries(stored.revocations).filter(
      ([, untilSeconds]) => untilSeconds * 1000 >= nowMs,
    );
    const told = await options.readRevokedKeys(listed.map(([key]) => key));
    const {
      revocations: wanted,
      dropped,
      droppedTakenBack,
    } = revocationList(told, {
      nowMs,
      longestLifeMs,
      stored: stored.revocations,
      signersSinceMs: options.signersSinceMs?.(),
    });
    newest = wanted;
    options.onList?.(Object.keys(wanted).length, dropped, droppedTakenBack);
    const isAsWanted =
      stored.keysAreRight &&
      stored.claims.iss === known.signer.publicKey &&
      sameRevocations(stored.revocations, wanted);
    if (isAsWanted && !pushAnyway) return { wanted, pushed: false };
    pushAnyway = false;
    await system.push(signAccountClaims(stored, wanted, { ...known, nowMs }));
    options.onPush?.();
    return { wanted, pushed: true };
  });

  const look = inTurn(() => system.applied(options.known().keys.agents));

  /** The newest list is good as well: it was made after the one that is asked for. */
  async function isActedOn(wanted: Revocations): Promise<boolean> {
    const servers = await look();
    const issuer = options.known().signer.publicKey;
    return servers.every(({ jwt, revocations }) => {
      if (jwt === '') return false;
      const { keysAreRight, claims } = read(jwt);
      const isCurrent = sameRevocations(revocations, wanted) || sameRevocations(revocations, newest);
      return isCurrent && keysAreRight && claims.iss === issuer;
    });
  }

  return async () => {
    for (let round = 1; round <= mostRounds; round++) {
      const { wanted, pushed } = await pass();
      if (pushed) continue;
      if (await isActedOn(wanted)) return wanted;
      // Stored and not acted on: only a newer push can help.
      pushAnyway = true;
    }
    throw new RollcallError(
      'CLAIMS_NOT_APPLIED',
      `the servers do not act on the claims after ${mostRounds} rounds`,
    );
  };
}
