import type { RegistrarConfig } from '../config.ts';
import type { FleetInterval } from './follow-interval-multiplier.ts';
import type { ReplySettings } from './reply.ts';
import type { SigningKeys } from './signing-keys.ts';

/**
 * What replies are made with.
 * @param parts.keys - asked for each reply, because keys roll over while the registrar runs
 */
export function replySettings(
  config: Pick<RegistrarConfig, 'memberLife' | 'waitingLife' | 'heartbeatInterval'>,
  parts: {
    readonly identity: { readonly hubId: string; readonly agentsAccount: string };
    readonly interval: Pick<FleetInterval, 'multiplier' | 'returnWithinMs'>;
    keys(): SigningKeys;
  },
): ReplySettings {
  const { identity, interval, keys } = parts;
  return {
    hubId: identity.hubId,
    get replyKey() {
      return keys().replyKey;
    },
    get replyChain() {
      return keys().replyChain;
    },
    get hubCas() {
      return keys().hubCas;
    },
    get hubAddresses() {
      return keys().hubAddresses;
    },
    issuer: {
      agentsAccount: identity.agentsAccount,
      get signers() {
        return keys().agentSigners;
      },
    },
    memberLifeMs: config.memberLife,
    waitingLifeMs: config.waitingLife,
    heartbeatIntervalMs: config.heartbeatInterval,
    intervalMultiplier: () => interval.multiplier(),
    returnWithinMs: () => interval.returnWithinMs(),
  };
}
