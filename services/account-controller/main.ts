import { consumeEvents } from '@rollcall/shared/decisions';
import { mostRevocations } from '@rollcall/shared/rights';
import {
  followUser,
  type RunningService,
  runService,
  type ServiceContext,
  type ServiceWork,
} from '@rollcall/shared/service';
import { createClaimsCheck } from './watch-claims.ts';
import type { Config } from './config.ts';
import { cutFlooders } from './cut-flooders.ts';
import { CutKeys } from './cut-keys.ts';
import { createConnectionEnder } from './end-connections.ts';
import { followRevocations } from './follow-revocations.ts';
import { followIdentityFile, type IdentityFile, knownKeys } from './identity-file.ts';
import { keepWitness } from './keep-history-witness.ts';
import { createRevokedKeysReader } from './read-revoked-keys.ts';
import { repeatChecks } from './repeat-checks.ts';
import { createSystemAccount } from './system-account.ts';

export { configSchema } from './config.ts';

async function work(
  { nc, log, history, logger, metrics, connectAs }: ServiceContext,
  config: Config,
  file: IdentityFile,
): Promise<ServiceWork> {
  const clock = { longestLifeMs: config.longestCredentialLife, nowMs: Date.now };
  const account = file.current().hubKeys.agents;
  const claimsUser = () => file.current().sys;
  const known = () => knownKeys(file);
  const onKick = () => metrics.count('rollcall_trust_kicks_total');

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
  const claims = await createClaimsCheck(file, { ...clock, system, revokedKeys, log, logger, metrics });
  const checks = repeatChecks(() => claims.check(), config.checkInterval);
  // Not a reason to stop: what is wrong is shown, events are held, and the next one tries again.
  await checks.now();
  const changeUser = followUser(sys, claimsUser, logger);
  file.follow(logger, () => {
    changeUser();
    void checks.now();
  });
  const endConnections = createConnectionEnder({ system, account, onKick });
  const witness = keepWitness(nc, { system, history, logger, known, nowMs: Date.now });
  const flooders = cutFlooders(nc, { system, account, logger, onKick });
  const { keepClaims } = claims;
  const world = { ...clock, log, keepClaims, endConnections, cutKeys: new CutKeys() };
  const consumption = await consumeEvents(nc, {
    service: 'account-controller',
    logger,
    metrics,
    handle: followRevocations(world, revokedKeys),
  });
  return {
    stats: () => ({
      revokedKeys: metrics.value('rollcall_trust_revocations'),
      revokedKeysRoom: mostRevocations,
      revokedKeysDropped: metrics.value('rollcall_trust_revocations_dropped'),
      deadLetters: metrics.value('rollcall_dead_letters_total'),
    }),
    notReady: () => (sys.isClosed() ? 'not connected as who pushes claims' : claims.problem()?.message),
    async drain() {
      checks.stop();
      file.stop();
      await Promise.all([consumption.drain(), flooders.drain()]);
      await witness.drain();
      if (!sys.isClosed()) await sys.drain();
    },
  };
}

/** Starts the account-controller: it makes the claims of account AGENTS what the events say, and proves it. */
export async function start(config: Config, waitsUntil?: AbortSignal): Promise<RunningService> {
  const file = followIdentityFile(config.identityFile);
  return runService({
    name: 'account-controller',
    description: 'turns revocations and rolled keys into account claims',
    config,
    identity: file.current(),
    waitsUntil,
    work: (context) => work(context, config, file),
  });
}
