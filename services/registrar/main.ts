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

const metrics = {
  rollcall_requests_total: 'Requests to join, by outcome.',
  rollcall_renewals_total: 'Renewals of credentials that were asked for.',
  rollcall_callouts_total: 'Connections without credentials, by what they were let in as, or refused.',
  rollcall_asks_malformed_total: 'Messages of agents that were no valid ask.',
  rollcall_asks_busy_total: 'Messages of agents that were put off, because too many were open.',
  rollcall_dead_letters_total: 'Events that could not be handled.',
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
    metrics,
    async work({ nc, log, logger, metrics: counted }) {
      const facts = await openFactStore(nc);
      const asks = answerAsks(nc, {
        log,
        facts,
        logger,
        metrics: counted,
        epoch: identity.epoch,
        reservedNames: config.reservedNames,
        settings,
      });
      const consumption = await consumeEvents(nc, {
        service: 'registrar',
        logger,
        handle: createAdmission(nc, log, settings),
        onDead: () => counted.count('rollcall_dead_letters_total'),
      });
      const callout = await connectBus(busAddress(config), identity.callout, 'callout');
      // However this process ends its first connection, the second one does not outlive it.
      void nc.closed().then(() => callout.close());
      const callouts = answerCallouts(callout, {
        log,
        logger,
        metrics: counted,
        accountKey: nkeyFromSeed(identity.callout.accountSeed),
        xkey: xkeyFromSeed(identity.callout.xkeySeed),
        agentsAccount: identity.agentsAccount,
        signers,
      });
      return {
        notReady: () => (callout.isClosed() ? 'the callout is not connected' : undefined),
        async drain() {
          await Promise.all([callouts.drain(), asks.drain(), consumption.drain()]);
        },
      };
    },
  });
}
