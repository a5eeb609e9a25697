import { connectBus, openFactStore } from '@rollcall/shared/bus';
import { consumeEvents } from '@rollcall/shared/decisions';
import { type AgentRole, agentRoles } from '@rollcall/shared/rights';
import {
  busAddress,
  busUserSchema,
  readIdentity,
  type RunningService,
  runService,
} from '@rollcall/shared/service';
import { type Nkey, nkeyFromSeed, xkeyFromSeed } from '@rollcall/shared/trust';
import { z } from 'zod';
import { createAdmission } from './admission.ts';
import type { AnswerSettings } from './answer.ts';
import { answerAsks } from './asks.ts';
import { answerCallouts } from './callout.ts';
import type { RegistrarConfig } from './config.ts';

export { configSchema } from './config.ts';

const roles = Object.keys(agentRoles) as AgentRole[];

const secrets = {
  answerKeySeed: z.string(),
  agentsAccount: z.string(),
  agentSigners: z.record(z.enum(roles as [AgentRole, ...AgentRole[]]), z.string()),
  callout: busUserSchema.extend({ account: z.string(), accountSeed: z.string(), xkeySeed: z.string() }),
};

/** Starts the registrar: it lets agents in to ask, takes their requests, and admits those the approver approved. */
export async function start(config: RegistrarConfig): Promise<RunningService> {
  const identity = readIdentity(config.identityFile, secrets);
  const signers = Object.fromEntries(
    roles.map((role) => [role, nkeyFromSeed(identity.agentSigners[role])]),
  ) as Record<AgentRole, Nkey>;
  const settings: AnswerSettings = {
    hubId: identity.hubId,
    answerKey: nkeyFromSeed(identity.answerKeySeed),
    issuer: { agentsAccount: identity.agentsAccount, signers },
    memberLifeMs: config.memberLife,
    waitingLifeMs: config.waitingLife,
    beatIntervalMs: config.beatInterval,
  };

  return runService({
    name: 'registrar',
    description: 'takes what agents ask, and answers it',
    config,
    identity,
    async work({ nc, log, logger, metrics }) {
      const facts = await openFactStore(nc);
      const asks = answerAsks(nc, {
        log,
        facts,
        logger,
        metrics,
        epoch: identity.epoch,
        reservedNames: config.reservedNames,
        settings,
      });
      const consumption = await consumeEvents(nc, {
        service: 'registrar',
        logger,
        metrics,
        handle: createAdmission(nc, log, { settings, metrics }),
      });
      const callout = await connectBus(busAddress(config), identity.callout, 'callout');
      // However this process ends its first connection, the second one does not outlive it.
      void nc.closed().then(() => callout.close());
      const callouts = answerCallouts(callout, {
        log,
        logger,
        metrics,
        accountKey: nkeyFromSeed(identity.callout.accountSeed),
        xkey: xkeyFromSeed(identity.callout.xkeySeed),
        agentsAccount: identity.agentsAccount,
        signers,
      });
      return {
        notReady: () => (callout.isClosed() ? 'the callout is not connected' : undefined),
        stats: () => ({
          requests: metrics.value('rollcall_requests_total', { outcome: 'requested' }),
          asks: metrics.value('rollcall_asks_total'),
          callouts: metrics.value('rollcall_callouts_total'),
          deadLetters: metrics.value('rollcall_dead_letters_total'),
        }),
        async drain() {
          await Promise.all([callouts.drain(), asks.drain(), consumption.drain()]);
        },
      };
    },
  });
}
