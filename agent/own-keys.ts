import { createNkey, createXkey, type Nkey, nkeyFromSeed } from '@rollcall/shared/trust/keys';
import { RollcallError } from '@rollcall/shared/errors';
import type { AgentState } from './key-store.ts';

/** A new agent's state: keys made here, which never leave it (decision 7). */
export function newAgentState(owner: { clusterId: string; hubId: string }): AgentState {
  return { version: 1, seed: createNkey('user').seed, sealingSeed: createXkey().seed, ...owner };
}

/** @throws RollcallError AGENT_STATE_INVALID */
export function ownKeyOf(state: AgentState, place: string): Nkey {
  try {
    return nkeyFromSeed(state.seed);
  } catch (cause) {
    throw new RollcallError('AGENT_STATE_INVALID', `the key in ${place} is damaged`, { cause });
  }
}
