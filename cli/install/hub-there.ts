import { join } from 'node:path';
import { RollcallError } from '@rollcall/shared/errors';
import { findHubInfo } from '@rollcall/shared/hub';
import type { KubeClient } from '@rollcall/shared/kubernetes';
import { say } from '../output.ts';
import type { HubState } from '../up/hub-state.ts';
import { readState } from '../up/private-files.ts';

/**
 * Whoever has the keys of a hub is the only one who can install it again: under other keys it would be another one to every agent.
 * @returns the addresses that it is known by; none where there is no hub yet
 * @throws RollcallError HUB_KEYS_OTHER
 */
export async function refuseOtherKeys(client: KubeClient, directory: string): Promise<readonly string[]> {
  const there = await findHubInfo(client);
  const ours = readState<HubState>(join(directory, 'hub.json'));
  if (there && there.hubId !== ours?.hubId) {
    const keys = ours ? `the keys in "${directory}" are of hub ${ours.hubId}` : `"${directory}" has no keys`;
    throw new RollcallError('HUB_KEYS_OTHER', `hub ${there.hubId} is installed here, and ${keys}`);
  }
  say(`[preflight] keys: ${ours ? 'those of' : 'new ones, in'} "${directory}"`);
  return there?.addresses ?? [];
}
