import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { RollcallError } from '@rollcall/shared/errors';
import { findHubInfo } from '@rollcall/shared/hub';
import type { KubeClient } from '@rollcall/shared/kubernetes';
import { say } from '../output.ts';

/**
 * Whoever has the keys of a hub is the only one who can install it again: under other keys it would be another one to every agent.
 * @returns the addresses that it is known by; none where there is no hub yet
 * @throws RollcallError HUB_KEYS_OTHER
 */
export async function refuseWithoutKeys(client: KubeClient, directory: string): Promise<readonly string[]> {
  const there = await findHubInfo(client);
  const isNew = !existsSync(join(directory, 'hub.json'));
  if (there && isNew) {
    const message = `hub ${there.hubId} is installed here, and "${directory}" has no keys`;
    throw new RollcallError('HUB_KEYS_OTHER', message);
  }
  say(`[preflight] keys: ${isNew ? 'new ones, in' : 'those of'} "${directory}"`);
  return there?.addresses ?? [];
}

/** @throws RollcallError HUB_KEYS_OTHER */
export async function refuseOtherKeys(client: KubeClient, hubId: string): Promise<void> {
  const there = await findHubInfo(client);
  if (!there || there.hubId === hubId) return;
  throw new RollcallError(
    'HUB_KEYS_OTHER',
    `hub ${there.hubId} is installed here, and the keys are of hub ${hubId}`,
  );
}
