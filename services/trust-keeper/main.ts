import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { connectBus } from '@rollcall/shared/bus';
import { consumeEvents } from '@rollcall/shared/decisions';
import { type RollcallError, toRollcallError } from '@rollcall/shared/errors';
import type { HubKeys } from '@rollcall/shared/rights';
import { busUserSchema, readIdentity, type RunningService, runService } from '@rollcall/shared/service';
import { nkeyFromSeed } from '@rollcall/shared/trust';
import type { Config } from './config.ts';
import { cutKeys } from './cut-keys.ts';
import { createClaimsKeeper } from './keep-claims.ts';
import { createRevokedKeysReader } from './read-revoked-keys.ts';
import { createSystemAccount } from './system-account.ts';

export { configSchema } from './config.ts';

const identityShape = {
  sys: busUserSchema,
  operatorSigningSeed: z.string(),
  hubKeys: z.custom<HubKeys>((value) => typeof value === 'object' && value !== null && 'agents' in value),
};

export async function start(config: Config): Promise<RunningService> {
  const identity = readIdentity(config.identityFile, identityShape);
  const address = { servers: config.busServers, caPem: readFileSync(config.busCaFile, 'utf8') };
  const sys = await connectBus(address, identity.sys, 'trust-keeper');
  const longestLifeMs = config.longestCredentialLife;
  const clock = { longestLifeMs, nowMs: Date.now };
  const starting = runService({
    name: 'trust-keeper',
    description: 'turns revocations into account claims',
    config,
    identity,
    async work({ nc, log, logger, metrics }) {
      const system = createSystemAccount(sys);
      const keepList = createClaimsKeeper({
        ...clock,
        system,
        keys: identity.hubKeys,
        signer: nkeyFromSeed(identity.operatorSigningSeed),
        readRevokedKeys: createRevokedKeysReader(log, clock),
        onPush: () => metrics.count('rollcall_trust_pushes_total'),
        onList(size, dropped) {
          metrics.gauge('rollcall_trust_revocations', size);
          metrics.gauge('rollcall_trust_revocations_dropped', dropped);
          if (dropped > 0)
            logger.error({ count: dropped }, 'the revocation list has no room for the oldest keys');
        },
      });
      let problem: RollcallError | undefined;
      async function keepClaims(): Promise<void> {
        try {
          await keepList();
          problem = undefined;
        } catch (thrown) {
          problem = toRollcallError(thrown);
          if (problem.code === 'CLAIMS_DIFFER') metrics.count('rollcall_trust_refused_total');
          throw problem;
        }
      }

      // Not a reason to stop: what is wrong is shown, events are held, and the next one tries again.
      await keepClaims().catch((error: RollcallError) =>
        logger.error({ err: error }, 'account claims are not as they should be'),
      );
      const world = {
        ...clock,
        log,
        system,
        account: identity.hubKeys.agents,
        keepClaims,
        onKick: () => metrics.count('rollcall_trust_kicks_total'),
      };
      const consumption = await consumeEvents(nc, {
        service: 'trust-keeper',
        logger,
        metrics,
        async handle(event) {
          if (event.type === 'revoked') return cutKeys(world, event);
          // An approval can only take off the list what a revocation of this cluster has put there; most have none.
          const revocations = await log.readAll(`cluster.${event.id}.revoked`);
          if (revocations.length > 0) await keepClaims();
        },
      });
      return {
        stats: () => ({
          revokedKeys: metrics.value('rollcall_trust_revocations'),
          deadLetters: metrics.value('rollcall_dead_letters_total'),
        }),
        notReady: () => (sys.isClosed() ? 'not connected to the system account' : problem?.message),
        async drain() {
          await consumption.drain();
          if (!sys.isClosed()) await sys.drain();
        },
      };
    },
  });
  return starting.catch(async (error: unknown) => {
    if (!sys.isClosed()) await sys.close();
    throw error;
  });
}
