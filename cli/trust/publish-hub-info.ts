import { toRollcallError } from '@rollcall/shared/errors';
import { findHubInfo } from '@rollcall/shared/hub';
import { applyManifests } from '@rollcall/shared/kubernetes';
import { say } from '../terminal/output.ts';
import { hubConfigMap } from '../up/hub-manifests.ts';
import type { HubState } from '../up/state/hub-state.ts';
import { askOwnApiServer } from './own-api-server.ts';

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
    await askOwnApiServer(stateDir, async (client) => {
      const { addresses = [] } = (await findHubInfo(client)) ?? {};
      await applyManifests(client, [hubConfigMap(hub, told ?? addresses)]);
    });
  } catch (thrown) {
    say(`the next start of the hub tells it to those who make tokens (${toRollcallError(thrown).message})`);
  }
}
