import { formatHubAddress } from '@rollcall/agent';
import { RollcallError } from '@rollcall/shared/errors';
import { readHubInfo } from '@rollcall/shared/hub';
import { applyManifests, type KubeClient } from '@rollcall/shared/kubernetes';
import { addressesOf } from '../../agent/joining-flags.ts';
import { type HubFiles, openHubFiles } from '../../trust/hub-files.ts';
import { say } from '../../terminal/output.ts';
import { hubConfigMap } from '../../up/hub-manifests.ts';
import { refuseRestoreUnderWay } from '../../up/state/half-restored.ts';
import { untilAvailable } from '../until-available.ts';
import { statefulSets } from '../workloads.ts';
import { forwardSecrets, hubSecrets, identitySecrets, peoplesSecrets } from './hub-keys.ts';
import { refuseForgottenPlace } from './hub-kubeconfigs.ts';
import { type HubPlacesFlags, openHubPlaces } from './hub-places.ts';

export interface KeysFlags extends HubPlacesFlags {
  /** Of a hub in a cluster, the directory with its keys; absent: that of `rollcall up`. */
  readonly keys?: string;
}

/** A hub whose keys are on this machine. */
export interface OpenedHub {
  readonly files: HubFiles;
  /** The API server of a hub that runs in a cluster, as the person of the kubeconfig; undefined: the hub is here. */
  readonly client: KubeClient | undefined;
  /** That of its pods; mostly the same. */
  readonly workloads: KubeClient | undefined;
  close(): void;
}

/** The kubelet brings a changed Secret to pods within a minute and a half, and services look every 2 s. */
const secretsReadWithinMs = 120_000;

const servers = { resource: statefulSets, name: 'rollcall-nats', namespace: 'rollcall-system' } as const;
/** Three of them, one after the other, each on a node that may have to pull its image. */
const serversRunWithinMs = 600_000;

/** They read their files when they start. Where they did with these, nothing is restarted; one that is starting is waited for. */
async function startServersAnew(workloads: KubeClient, digest: string): Promise<void> {
  const template = { metadata: { annotations: { 'rollcall.dev/keys': digest } } };
  const { resource, name, namespace } = servers;
  say('the servers take their new files: each that has former ones starts anew');
  await workloads.mergePatch(resource, name, { spec: { template } }, { namespace });
  await untilAvailable(workloads, servers, serversRunWithinMs);
}

/** No server has ever been started in a directory that `rollcall install hub` made. */
export const runsInPods = ({ address }: Pick<HubFiles, 'address'>): boolean => address.servers.length === 0;

/**
 * The hub of a directory with keys, wherever it runs: one in a cluster is reached as agents reach it, and its services read
 * what is changed in Secrets.
 * @param flags - which cluster that is
 * @param restoring - whether it is the restore itself that asks, which may not be over
 * @throws RollcallError HUB_MISSING, HUB_WRONG, RESTORE_UNFINISHED, USAGE, KUBECONFIG_INVALID, KUBE_CONTEXT_UNKNOWN
 */
export async function openHubAnywhere(
  stateDir: string,
  flags: HubPlacesFlags,
  { restoring = false }: { restoring?: boolean } = {},
): Promise<OpenedHub> {
  const files = openHubFiles(stateDir);
  if (!runsInPods(files)) return { files, client: undefined, workloads: undefined, close: () => undefined };
  if (!restoring) refuseRestoreUnderWay(stateDir);
  const places = openHubPlaces(flags);
  try {
    await refuseForgottenPlace(places);
    const { hubId, addresses } = await readHubInfo(places.hub);
    const { hubId: ours, caPem } = files.read('hub');
    if (hubId !== ours) {
      const message = `hub ${hubId} is installed there, and the keys in "${stateDir}" are of hub ${ours}`;
      throw new RollcallError('HUB_WRONG', message);
    }
    const plain = addressesOf(addresses).filter(({ isWebSocket }) => !isWebSocket);
    return {
      files: {
        ...files,
        address: { servers: plain.map(formatHubAddress), caPem },
        async publish() {
          // It may have begun since.
          if (!restoring) refuseRestoreUnderWay(stateDir);
          const peoples = peoplesSecrets(stateDir);
          const identities = identitySecrets(stateDir, files.read('hub').caPem);
          await applyManifests(places.workloads, [...identities, ...forwardSecrets(peoples)]);
          await applyManifests(places.hub, peoples);
        },
        readWithinMs: secretsReadWithinMs,
        async tellHub() {
          await applyManifests(places.hub, [hubConfigMap(files.read('hub'), addresses)]);
        },
        async toServers() {
          const { secrets, digest } = hubSecrets(stateDir);
          await applyManifests(places.workloads, secrets);
          await startServersAnew(places.workloads, digest);
          return { certificate: true, configuration: true };
        },
      },
      client: places.hub,
      workloads: places.workloads,
      close: () => places.close(),
    };
  } catch (error) {
    places.close();
    throw error;
  }
}
