import { RollcallError } from '@rollcall/shared/errors';
import { withinMs } from '../hub/within-ms.ts';
import { type AgentState, checkStateFits, type KeyStore } from './key-store.ts';

/** A known agent checks whose keys it has, but does not wait long for a member that is down. */
const identityCheckMs = 2000;

/**
 * What an earlier run kept; undefined for a new agent.
 * @param hubId - of the token; undefined where none was given
 * @throws RollcallError TOKEN_INVALID for a new agent without a token, AGENT_STATE_OTHER; and what the store throws
 */
export async function loadState(
  store: KeyStore,
  hubId: string | undefined,
  clusterId: Promise<string>,
): Promise<AgentState | undefined> {
  const known = await store.load();
  if (known === undefined) {
    if (hubId !== undefined) return undefined;
    throw new RollcallError('TOKEN_INVALID', `there is no token, and no key in ${store.place}`);
  }
  checkStateFits(known, store.place, { hubId });
  checkStateFits(known, store.place, { clusterId: await withinMs(clusterId, identityCheckMs) });
  return known;
}
