import { applyManifests } from '@rollcall/shared/kubernetes';
import { openHubFiles } from '../../cli/trust/hub-files.ts';
import { manifestsIn, onceServed } from '../../cli/up/hub-manifests.ts';
import type { InstalledHub } from '../../tests/nodes/installed-hub.ts';
import { type Crowd, openCrowd } from '../hub/crowd.ts';

/** Agents elsewhere, let in by their token. */
export async function openInstalled(hub: InstalledHub, most: number): Promise<Crowd> {
  await onceServed(() => applyManifests(hub.admin, manifestsIn('embedded')));
  const { hubId, caPem } = openHubFiles(hub.keys).read('hub');
  const { admin } = hub;
  return openCrowd({ admin, hubId, caPem, addresses: hub.hubAddress.split(',') }, most);
}
