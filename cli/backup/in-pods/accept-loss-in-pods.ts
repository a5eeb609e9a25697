import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { type KubeClient, resources } from '@rollcall/shared/kubernetes';
import { openHubAnywhere } from '../../install/hub/hub-in-pods.ts';
import type { HubPlacesFlags } from '../../install/hub/hub-places.ts';
import { printResult } from '../../terminal/output.ts';
import { withProgress } from '../../terminal/progress.ts';
import { makeStreams, setupUser } from '../../up/nats/nats-server.ts';
import { serverCountOf } from '../../up/state/nats-servers-of.ts';
import { knownEpochs } from '../../up/state/half-restored.ts';
import { lockState } from '../../up/state/state-lock.ts';
import { beginEpoch, enterEpoch } from '../begin-epoch.ts';
import { nextEpoch } from '../next-epoch.ts';
import { refuseWhereWhole } from './refuse-while-services-write.ts';

const namespace = 'rollcall-system';
/** Of the pods: services that are of another epoch are other pods. */
const epochAnnotation = 'rollcall.dev/epoch';

/** The services of the directory that are deployed there start anew, with the Secrets that were changed. */
async function startAnew(workloads: KubeClient, stateDir: string, epoch: number): Promise<void> {
  const services = readdirSync(join(stateDir, 'identities')).map((file) => file.replace('.json', ''));
  const template = { metadata: { annotations: { [epochAnnotation]: String(epoch) } } };
  for (const service of services) {
    const name = `rollcall-${service}`;
    // What only makes the streams is no deployment.
    if (!(await workloads.get(resources.deployments, { name, namespace }))) continue;
    await workloads.mergePatch(resources.deployments, name, { spec: { template } }, { namespace });
  }
}

/**
 * The same for a hub in a cluster, whose NATS servers run on: by the keys of the directory, and from anywhere that agents reach it from.
 * @throws RollcallError HUB_WRONG, HUB_MISSING, USAGE, STATE_IN_USE, KEYS_OFFLINE, BUS_UNREACHABLE; KubeApiError
 */
export async function acceptLossInPods(
  stateDir: string,
  flags: HubPlacesFlags & { readonly epoch?: string },
): Promise<void> {
  const opened = await openHubAnywhere(stateDir, flags);
  const { files, workloads } = opened;
  try {
    if (!workloads) return;
    const unlock = lockState(stateDir);
    try {
      await withProgress('asking the services', refuseWhereWhole(stateDir, files.address));
      const asked = flags.epoch === undefined ? undefined : Number(flags.epoch);
      const epoch = nextEpoch(knownEpochs(stateDir), asked);
      const begin = async () => {
        // One that is gone is made anew, empty.
        await makeStreams(files.address, setupUser(stateDir), serverCountOf(stateDir));
        return beginEpoch(files.address, { stateDir, hub: files.read('hub'), epoch });
      };
      const through = await withProgress('beginning a new epoch', begin());
      enterEpoch(stateDir, epoch);
      await files.publish();
      await files.tellHub();
      await withProgress('starting the services anew', startAnew(workloads, stateDir, epoch));
      printResult(
        `epoch ${epoch} begins after event ${through}; what came later is lost. The services start anew: \`rollcall status\` says when they run. What Kubernetes shows as put out stays out, and tokens wait for \`rollcall token renew NAME\`.`,
      );
    } finally {
      unlock();
    }
  } finally {
    opened.close();
  }
}
