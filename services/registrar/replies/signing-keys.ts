import type { SignedLink } from '@rollcall/shared/protocol';
import type { HubCas } from '@rollcall/shared/protocol/hub-cas';
import { type AgentRole, agentRoles } from '@rollcall/shared/rights';
import { busUserSchema, followIdentity } from '@rollcall/shared/service';
import { type Nkey, nkeyFromSeed } from '@rollcall/shared/trust';
import { z } from 'zod';

const roles = Object.keys(agentRoles) as AgentRole[];

const secrets = {
  replyKeySeed: z.string(),
  /** From the hub's first reply key to this one. */
  replyChain: z
    .array(
      z.strictObject({
        signed: z.string(),
        signatures: z.record(z.string(), z.string()),
        caSignature: z.string().optional(),
      }),
    )
    .default([]),
  hubCas: z
    .union([
      z.strictObject({ signed: z.string(), signature: z.string() }),
      // Of a rotation before 2026-11-23, when nobody signed it: no agent believes it.
      z.string().transform(() => undefined),
    ])
    .optional(),
  hubAddresses: z.array(z.string()).optional(),
  agentsAccount: z.string(),
  agentSigners: z.record(z.enum(roles as [AgentRole, ...AgentRole[]]), z.string()),
  callout: busUserSchema.extend({ account: z.string(), accountSeed: z.string(), xkeySeed: z.string() }),
};

/** What the registrar signs with, and says of the hub, at this moment. */
export interface SigningKeys {
  readonly replyKey: Nkey;
  readonly replyChain: readonly SignedLink[];
  readonly hubCas: HubCas | undefined;
  readonly hubAddresses: readonly string[] | undefined;
  readonly agentSigners: Readonly<Record<AgentRole, Nkey>>;
}

/**
 * The registrar's identity file, whose keys roll over while it runs (docs/security/rotate.md).
 * @returns `keys` gives those of now; reading them from their seeds is done once for each writing of the file
 */
export function followSigningKeys(identityFile: string) {
  const file = followIdentity(identityFile, secrets);
  let known: { of: unknown; keys: SigningKeys } | undefined;
  function keys(): SigningKeys {
    const identity = file.current();
    if (known?.of === identity) return known.keys;
    const agentSigners = Object.fromEntries(
      roles.map((role) => [role, nkeyFromSeed(identity.agentSigners[role])]),
    ) as Record<AgentRole, Nkey>;
    const { replyChain, hubCas, hubAddresses } = identity;
    known = {
      of: identity,
      keys: {
        replyKey: nkeyFromSeed(identity.replyKeySeed),
        replyChain,
        hubCas,
        hubAddresses,
        agentSigners,
      },
    };
    return known.keys;
  }
  return { file, keys };
}
