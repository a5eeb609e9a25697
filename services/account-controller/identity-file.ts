import { z } from 'zod';
import { agentsAccountClaims, type AgentSigners, type HubKeys } from '@rollcall/shared/rights';
import { busUserSchema, followIdentity } from '@rollcall/shared/service';
import { type Nkey, nkeyFromSeed } from '@rollcall/shared/trust';
import type { KnownKeys } from './account-claims.ts';
import type { SeenTrust } from './publish-trust.ts';

const identityShape = {
  sys: busUserSchema,
  operatorSigningSeed: z.string(),
  hubKeys: z.custom<HubKeys>((value) => typeof value === 'object' && value !== null && 'agents' in value),
  /** A file of before this was in it has the rights that this version knows. */
  agentsAccount: z.record(z.string(), z.unknown()).optional(),
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

/** @throws RollcallError CONFIG_INVALID when it cannot be read now */
export const followIdentityFile = (path: string) => followIdentity(path, identityShape);
export type IdentityFile = ReturnType<typeof followIdentityFile>;

interface KnownNow extends KnownKeys {
  /** One of the operator's signing keys. */
  readonly signer: Nkey;
}

/** The keys as the file has them now. */
export function knownKeys(file: IdentityFile): KnownNow {
  const { hubKeys: keys, formerAgentSigners, operatorSigningSeed, ...found } = file.current();
  const agentsAccount = found.agentsAccount ?? agentsAccountClaims(keys, {});
  return { keys, agentsAccount, formerAgentSigners, signer: nkeyFromSeed(operatorSigningSeed) };
}

/** What is told of keys that every server was seen to act on, with what agents know the hub by now. */
export function trustOf({ keys, signer }: KnownNow, file: IdentityFile): SeenTrust {
  const { knownBy, rotatedBy } = file.current();
  const agentSigners = [keys.agentSigners, ...(keys.moreAgentSigners ?? [])];
  return { agentSigners, operatorKey: signer.publicKey, ...knownBy, rotatedBy };
}
