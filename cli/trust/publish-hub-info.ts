import { join } from 'node:path';
import { toRollcallError } from '@rollcall/shared/errors';
import { findHubInfo } from '@rollcall/shared/hub';
import { applyManifests, createKubeClient, loadKubeAccess } from '@rollcall/shared/kubernetes';
import { say } from '../output.ts';
import { hubConfigMap } from '../up/hub-manifests.ts';
import type { HubState } from '../up/hub-state.ts';

/**
 * Says in ConfigMap rollcall-hub how the hub is known now, for whoever makes tokens. Where its API server does not run, the
 * next start does it.
 * @param told - its addresses, where they change
 */
export async function publishHubInfo(
  stateDir: string,
  hub: HubState,
  told?: readonly string[],
): Promise<void> {
  try {
    const path = join(stateDir, 'kubernetes', 'kubeconfig');
    const who = { fieldManager: 'rollcall-up', userAgent: 'rollcall-trust' };
    const client = createKubeClient(loadKubeAccess({ path, context: undefined }), who);
    try {
      const { addresses = [] } = (await findHubInfo(client)) ?? {};
      await applyManifests(client, [hubConfigMap(hub, told ?? addresses)]);
    } finally {
      client.close();
    }
  } catch (thrown) {
    say(`the next start of the hub tells it to those who make tokens (${toRollcallError(thrown).message})`);
  }
}
