import type { EventLog } from '@rollcall/shared/bus';
import { type RollcallError, toRollcallError } from '@rollcall/shared/errors';
import type { HubTrust } from '@rollcall/shared/events';
import type { Logger, Metrics } from '@rollcall/shared/service';
import { type IdentityFile, knownKeys, trustOf } from './identity-file.ts';
import { createClaimsController } from './reconcile-account-claims.ts';
import type { RevokedKeysReader } from './read-revoked-keys.ts';
import { reportList } from './report-revocations.ts';
import type { Revocations } from './revocation-list.ts';
import type { SystemAccount } from './system-account.ts';
import { readToldTrust, signersSinceMs, publishTrust } from './publish-trust.ts';

export interface ClaimsCheck {
  /** Returns the list once every server acts on it. @throws RollcallError CLAIMS_DIFFER, CLAIMS_NOT_APPLIED */
  keepClaims(): Promise<Revocations>;
  /**
   * Compares all that servers have with what should be, mends it, and tells what was changed on purpose. Never rejects.
   * @returns whether all is as it should be now
   */
  check(): Promise<boolean>;
  /** Why the claims are not as they should be, by the last try; else undefined. */
  problem(): RollcallError | undefined;
}

export async function createClaimsCheck(
  file: IdentityFile,
  parts: {
    system: Pick<SystemAccount, 'lookUp' | 'push' | 'applied'>;
    revokedKeys: RevokedKeysReader;
    log: EventLog;
    longestLifeMs: number;
    nowMs(): number;
    logger: Logger;
    metrics: Metrics;
  },
): Promise<ClaimsCheck> {
  const { system, revokedKeys, log, longestLifeMs, nowMs, logger, metrics } = parts;
  let told: HubTrust | undefined = await readToldTrust(log);
  let problem: RollcallError | undefined;
  const keepList = createClaimsController({
    longestLifeMs,
    nowMs,
    system,
    known: () => knownKeys(file),
    signersSinceMs: () => signersSinceMs(told),
    readRevokedKeys: (listed) => revokedKeys.read(listed),
    onPush: () => metrics.count('rollcall_trust_pushes_total'),
    onList: reportList(metrics, logger),
  });

  async function keepClaims(): Promise<Revocations> {
    try {
      const revocations = await keepList();
      problem = undefined;
      return revocations;
    } catch (thrown) {
      problem = toRollcallError(thrown);
      if (problem.code === 'CLAIMS_DIFFER') metrics.count('rollcall_trust_refused_total');
      throw problem;
    }
  }
  return {
    keepClaims,
    async check() {
      try {
        // Keys that the file has by the end no server was seen to act on yet.
        const known = knownKeys(file);
        await keepClaims();
        told = await publishTrust(log, trustOf(known, file), nowMs());
        return true;
      } catch (thrown) {
        logger.error({ err: toRollcallError(thrown) }, 'account claims are not as they should be');
        return false;
      }
    },
    problem: () => problem,
  };
}
