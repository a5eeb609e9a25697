import { RollcallError } from '@rollcall/shared/errors';
import type { Decision } from '@rollcall/shared/events';
import type { HubKeys } from '@rollcall/shared/rights';
import type { Nkey } from '@rollcall/shared/trust';
import { readAccountClaims, signAccountClaims } from './account-claims.ts';
import { revocationList, type Revocations, sameRevocations } from './revocation-list.ts';
import type { SystemAccount } from './system-account.ts';

export interface KeepClaimsOptions {
  readonly system: Pick<SystemAccount, 'lookUp' | 'push' | 'applied'>;
  readonly keys: HubKeys;
  /** One of the operator's signing keys. */
  readonly signer: Nkey;
  readonly longestLifeMs: number;
  nowMs(): number;
  readRevokedKeys(): Promise<readonly Pick<Decision, 'revokedKeys'>[]>;
  onPush?(): void;
  /** After each list that was made; `dropped` of the oldest did not fit. */
  onList?(size: number, dropped: number): void;
}

/** Rounds in which another replica may push in between. */
const mostRounds = 10;

/**
 * Keeps the account's revocations as the stream says.
 *
 * Each round makes the list from the stream and compares it with what the servers have stored and act on; a push is followed
 * by another round. So whoever pushed last has seen the stream after its push, and a list that a slower replica pushed over a
 * longer one does not stay.
 * @returns a function that returns once every server acts on a list that was made after the call. Calls at the same time
 *   share a run: one that runs already may have read the stream too early, so they wait for the next.
 * @throws (the returned function) RollcallError CLAIMS_DIFFER, CLAIMS_NOT_APPLIED
 */
export function createClaimsKeeper(options: KeepClaimsOptions): () => Promise<void> {
  const { system, keys, signer, longestLifeMs } = options;
  let running: Promise<void> | undefined;
  let next: Promise<void> | undefined;

  async function isActedOn(wanted: Revocations): Promise<boolean> {
    const servers = await system.applied(keys.agents);
    return servers.every((revocations) => sameRevocations(revocations, wanted));
  }

  async function run(): Promise<void> {
    for (let round = 1; round <= mostRounds; round++) {
      const stored = readAccountClaims(await system.lookUp(keys.agents), keys);
      const nowMs = options.nowMs();
      const { revocations, dropped } = revocationList(await options.readRevokedKeys(), {
        nowMs,
        longestLifeMs,
      });
      options.onList?.(Object.keys(revocations).length, dropped);
      if (sameRevocations(stored.revocations, revocations) && (await isActedOn(revocations))) return;
      await system.push(signAccountClaims(stored, revocations, { keys, signer, nowMs }));
      options.onPush?.();
    }
    throw new RollcallError(
      'CLAIMS_NOT_APPLIED',
      `the servers do not act on the claims after ${mostRounds} pushes`,
    );
  }

  function startRun(): Promise<void> {
    const mine = run().finally(() => {
      if (running === mine) running = undefined;
    });
    running = mine;
    return mine;
  }

  return () => {
    if (next) return next;
    if (!running) return startRun();
    const mine = running
      .catch(() => undefined)
      .then(() => {
        next = undefined;
        return startRun();
      });
    next = mine;
    return mine;
  };
}
