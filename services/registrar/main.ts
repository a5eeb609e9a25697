import { openFactStore, readEpoch } from '@rollcall/shared/bus';
import { consumeEvents, createArrivals } from '@rollcall/shared/decisions';
import { type RunningService, runService } from '@rollcall/shared/service';
import { nkeyFromSeed, xkeyFromSeed } from '@rollcall/shared/trust';
import { createAccessHandler } from './members/answer-access-request.ts';
import { createRotationHandler } from './members/key-rotation.ts';
import { createAdmission, tellMember } from './members/follow-decisions.ts';
import { replySettings } from './replies/reply-settings.ts';
import { handleRequests } from './requests/handle-requests.ts';
import { handleCallouts } from './callout/callout.ts';
import { createFloodGuard } from './limits/cut-request-floods.ts';
import { followInterval } from './replies/follow-interval-multiplier.ts';
import type { RegistrarConfig } from './config.ts';
import { endLeavings } from './members/leaving-timeout.ts';
import { createSettingsTeller } from './replies/tell-settings.ts';
import { followSigningKeys } from './replies/signing-keys.ts';
import { followOpenRequests } from './join/open-requests.ts';
import { createLeaveTurn } from './limits/leave-rate-limit.ts';
import { createMemberChanges } from './limits/member-changes.ts';
import { isFull, refuseForRoom } from './limits/refuse-when-full.ts';
import { watchSpace } from './limits/watch-space.ts';

export { configSchema } from './config.ts';

/** Starts the registrar: it lets agents in to ask, takes their requests, and admits those the approver approved. */
export async function start(config: RegistrarConfig, waitsUntil?: AbortSignal): Promise<RunningService> {
  const { file, keys } = followSigningKeys(config.identityFile);
  const identity = file.current();
  return runService({
    name: 'registrar',
    description: 'takes what agents ask, and answers it',
    told: { reservedNames: config.reservedNames.join(',') },
    config,
    identity,
    waitsUntil,
    async work({ nc, log, logger, metrics, connectAgain, connectAs }) {
      const interval = await followInterval(log, logger);
      const settings = replySettings(config, { identity, interval, keys });
      const facts = openFactStore(nc);
      const { restored } = await readEpoch(log);
      const epochBefore = restored && { restored, issuer: settings.issuer };
      const space = await watchSpace(nc, { everyMs: config.spaceInterval, logger, metrics });
      const waiting = followOpenRequests(nc, { log, logger });
      metrics.beforeScrape(() => metrics.gauge('rollcall_requests_open', waiting.requests.total));
      const hearing = await connectAgain();
      file.follow(logger);
      const floods = createFloodGuard(nc, { log, logger, metrics });
      const memberChanges = createMemberChanges();
      const arrivals = createArrivals();
      const isPlaceFull = () => isFull(space.usedShare());
      const requests = handleRequests(hearing, {
        floods,
        speaking: nc,
        log,
        facts,
        logger,
        metrics,
        epoch: identity.epoch,
        reservedNames: config.reservedNames,
        maxUsesPerTokenPerDay: config.maxUsesPerTokenPerDay,
        maxBytesPerTokenPerDay: config.maxBytesPerTokenPerDay,
        maxBytesPerDay: config.maxBytesPerDay,
        memberChanges,
        arrivals,
        leaveTurn: createLeaveTurn(arrivals),
        settings,
        access: createAccessHandler(nc, log),
        rotate: createRotationHandler(log, settings, { isFull: isPlaceFull, changes: memberChanges }),
        isFull: isPlaceFull,
        epochBefore,
        refuseNew: (tokenId) =>
          refuseForRoom({ usedShare: space.usedShare(), ...waiting.requests.counts(tokenId) }, config),
      });
      const leavings = endLeavings(log, { logger });
      const teller = createSettingsTeller(tellMember(nc, { log, settings }), { logger });
      const consumption = await consumeEvents(nc, {
        service: 'registrar',
        logger,
        metrics,
        arrivals,
        handle: createAdmission(nc, log, { settings, metrics, facts, leavings, teller }),
      });
      const callout = await connectAs(identity.callout, 'callout');
      const callouts = handleCallouts(callout, {
        floods,
        log,
        logger,
        metrics,
        accountKey: nkeyFromSeed(identity.callout.accountSeed),
        xkey: xkeyFromSeed(identity.callout.xkeySeed),
        issuer: settings.issuer,
        epochBefore,
      });
      return {
        notReady() {
          if (callout.isClosed()) return 'the callout is not connected';
          return hearing.isClosed() ? 'agents are not heard' : undefined;
        },
        stats: () => ({
          requests: metrics.value('rollcall_requests_total', { outcome: 'requested' }),
          agentRequests: metrics.value('rollcall_agent_requests_total'),
          callouts: metrics.value('rollcall_callouts_total'),
          deadLetters: metrics.value('rollcall_dead_letters_total'),
          memberLifeSeconds: config.memberLife / 1000,
          openRequests: waiting.requests.total,
          eventsUsedPercent: Math.floor((space.usedShare() ?? 0) * 100),
        }),
        async drain() {
          file.stop();
          interval.stop();
          teller.stop();
          // First what goes on by itself: while the bus is away, a drain of what it sends never ends.
          await Promise.all([leavings.stop(), space.stop(), waiting.stop()]);
          await Promise.all([callouts.drain(), requests.drain(), consumption.drain()]);
          await Promise.all([floods.drain(), hearing.close()]);
        },
      };
    },
  });
}
