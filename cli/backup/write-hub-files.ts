import { join } from 'node:path';
import { writePrivate } from '../up/private-files.ts';
import { hubsPutAside, isHalfRestored } from '../up/state/half-restored.ts';
import { type HubState, openHubState } from '../up/state/hub-state.ts';
import { upgradeHubState } from '../up/state/upgrade-hub-state.ts';
import { type Revocations, revocationsIn, unionOf } from '../up/state/revocations-of.ts';

/** The same keys and rights; only the number of the epoch is another. */
function inEpoch(path: string, text: string, epoch: number): string {
  if (path !== 'hub.json' && !path.startsWith('identities/')) return text;
  return JSON.stringify({ ...(JSON.parse(text) as object), epoch }, undefined, 2);
}

/** Also of a hub that a restore put aside which was stopped in its last step. */
function revokedBefore(stateDir: string, agentsAccount: string): Revocations {
  const places = [stateDir, ...(isHalfRestored(stateDir) ? hubsPutAside(stateDir) : [])];
  return unionOf(places.map((place) => revocationsIn(place, agentsAccount)));
}

/**
 * @param to.stateDir - of the hub that was there: who was put out since the backup is on its revocation list, and stays out. Nothing
 *   else is as lasting a witness of a cluster that has left
 */
export function writeHubFiles(
  files: Readonly<Record<string, string>>,
  to: { directory: string; stateDir: string; epoch: number },
): HubState {
  const { directory, stateDir, epoch } = to;
  for (const [path, text] of Object.entries(files))
    writePrivate(join(directory, path), inEpoch(path, text, epoch));
  const hub = openHubState(directory, Date.now());
  const alsoRevoked = revokedBefore(stateDir, hub.keys.agents);
  upgradeHubState(directory, Date.now(), { alsoRevoked });
  return openHubState(directory, Date.now());
}
