import { z } from 'zod';
import { consumeEvents, inBatches } from '@rollcall/shared/decisions';
import { type RollcallError, toRollcallError } from '@rollcall/shared/errors';
import type { Decision, HubTrust } from '@rollcall/shared/events';
import { type AgentSigners, type HubKeys, mostRevocations } from '@rollcall/shared/rights';
import {
  busUserSchema,
  followIdentity,
  followUser,
  type RunningService,
  runService,
} from '@rollcall/shared/service';
import { nkeyFromSeed } from '@rollcall/shared/trust';
import type { Config } from './config.ts';
import { cutFlooders } from './cut-flooders.ts';
import { CutKeys, cutKeys } from './cut-keys.ts';
import { createConnectionEnder } from './end-connections.ts';
import { pauseAfterMs } from './pause-after.ts';
import { createClaimsController, type Thoroughly } from './keep-claims.ts';
import { keepWitness } from './keep-witness.ts';
import { createRevokedKeysReader } from './read-revoked-keys.ts';
import { alarmingShare, type Revocations } from './revocation-list.ts';
import { createSystemAccount } from './system-account.ts';
import { readToldTrust, signersSinceMs, tellTrust } from './tell-trust.ts';

export { configSchema } from './config.ts';

const identityShape = {
  sys: busUserSchema,
  operatorSigningSeed: z.string(),
  hubKeys: z.custom<HubKeys>((value) => typeof value === 'object' && value !== null && 'agents' in value),
  /** Public keys of generations that were dropped; they may still stand in claims that a server has. */
  formerAgentSigners: z.array(z.custom<AgentSigners>()).default([]),
  /** What agents know the hub by, once it was rotated: for the history, nothing is signed with it here. */
  knownBy: z
    .looseObject({
      replyKey: z.string().optional(),
      cas: z.array(z.string()).optional(),
      addresses: z.array(z.string()).optional(),
    })
    .default({}),
  rotatedBy: z.looseObject({ person: z.string(), from: z.string() }).optional(),
};

export async function start(config: Config, waitsUntil?: AbortSignal): Promise<RunningService> {
  const file = followIdentity(config.identityFile, identityShape);
  const identity = file.current();
  const claimsUser = () => file.current().sys;
  const longestLifeMs = config.longestCredentialLife;
  const clock = { longestLifeMs, nowMs: Date.now };
  const known = () => {
    const { hubKeys: keys, formerAgentSigners, operatorSigningSeed } = file.current();
    return { keys, formerAgentSigners, signer: nkeyFromSeed(operatorSigningSeed) };
  };
  return runService({
    name: 'account-controller',
    description: 'turns revocations and rolled keys into account claims',
    config,
    identity,
    waitsUntil,
    async work({ nc, log, history, logger, metrics, connectAs }) {
      const sys = await connectAs(claimsUser, 'claims');
      const system = createSystemAccount(sys);
      const revokedKeys = createRevokedKeysReader(log, {
        ...clock,
        skipped: (err, { id, sequence }) =>
          logger.warn(
            { err, clusterId: id, seq: sequence },
            'what a newer version took back or gave is not known',
          ),
      });
      let told: HubTrust | undefined = await readToldTrust(log);
      const keepList = createClaimsController({
        ...clock,
        system,
        known,
        signersSinceMs: () => signersSinceMs(told),
        readRevokedKeys: (listed) => revokedKeys.read(listed),
        onPush: () => metrics.count('rollcall_trust_pushes_total'),
        onList(size, dropped, droppedTakenBack) {
          metrics.gauge('rollcall_trust_revocations', size);
          metrics.gauge('rollcall_trust_revocations_room', mostRevocations);
          metrics.gauge('rollcall_trust_revocations_dropped', dropped);
          if (droppedTakenBack > 0)
            logger.error(
              { count: droppedTakenBack },
              'the revocation list has no room for the oldest keys that were taken back',
            );
          else if (dropped > 0)
            logger.error(
              { count: dropped },
              'the revocation list has no room for keys that agents replaced or gave up',
            );
          else if (size > alarmingShare * mostRevocations)
            logger.warn({ count: size }, 'the revocation list is filling up');
        },
      });
      let problem: RollcallError | undefined;
      async function keepClaims(how?: Thoroughly): Promise<Revocations> {
        try {
          const revocations = await keepList(how);
          problem = undefined;
          return revocations;
        } catch (thrown) {
          problem = toRollcallError(thrown);
          if (problem.code === 'CLAIMS_DIFFER') metrics.count('rollcall_trust_refused_total');
          throw problem;
        }
      }
      /** Compares all that servers have with what should be, mends it, and tells what was changed on purpose. */
      async function check(): Promise<void> {
        try {
          const { keys, signer } = known();
          await keepClaims({ lookForNewServers: true });
          const agentSigners = [keys.agentSigners, ...(keys.moreAgentSigners ?? [])];
          const { knownBy, rotatedBy } = file.current();
          const seen = { agentSigners, operatorKey: signer.publicKey, ...knownBy, rotatedBy };
          told = await tellTrust(log, seen, Date.now());
        } catch (thrown) {
          logger.error({ err: toRollcallError(thrown) }, 'account claims are not as they should be');
        }
      }

      // Not a reason to stop: what is wrong is shown, events are held, and the next one tries again.
      await check();
      const checking = setInterval(() => void check(), config.checkInterval);
      const changeUser = followUser(sys, claimsUser, logger);
      file.follow(logger, () => {
        changeUser();
        void check();
      });
      const account = identity.hubKeys.agents;
      const onKick = () => metrics.count('rollcall_trust_kicks_total');
      const endConnections = createConnectionEnder({ system, account, onKick });
      const world = { ...clock, log, keepClaims, endConnections, cutKeys: new CutKeys() };
      const witness = keepWitness(nc, { system, history, logger, known, nowMs: Date.now });
      const flooders = cutFlooders(nc, { system, account, logger, onKick });
      const departures = inBatches(() => pauseMs);
      let pauseMs = pauseAfterMs(0);
      const consumption = await consumeEvents(nc, {
        service: 'account-controller',
        logger,
        metrics,
        async handle(event) {
          if (event.type === 'revoked') {
            const isLeaving = (event.section as Decision).verdict === 'leaving';
            // Its agent is told to go anyway. One push of claims for each of ten thousand would leave NATS no time for others.
            if (isLeaving) await departures();
            const fromMs = performance.now();
            await cutKeys(world, event);
            if (isLeaving) pauseMs = pauseAfterMs(performance.now() - fromMs);
            return;
          }
          // Most approvals have nothing to take off the list.
          if (await revokedKeys.mayGiveBack(event)) await keepClaims();
        },
      });
      return {
        stats: () => ({
          revokedKeys: metrics.value('rollcall_trust_revocations'),
          revokedKeysRoom: mostRevocations,
          revokedKeysDropped: metrics.value('rollcall_trust_revocations_dropped'),
          deadLetters: metrics.value('rollcall_dead_letters_total'),
        }),
        notReady: () => (sys.isClosed() ? 'not connected as who pushes claims' : problem?.message),
        async drain() {
          clearInterval(checking);
          file.stop();
          await Promise.all([consumption.drain(), flooders.drain()]);
          await witness.drain();
          if (!sys.isClosed()) await sys.drain();
        },
      };
    },
  });
}
