import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { NatsConnection } from '@nats-io/transport-node';
import { createKubeClient, type KubeClient, loadKubeAccess } from '@rollcall/shared/kubernetes';
import { rollcallVersion } from '@rollcall/shared/service';
import { type BusFlags, isElsewhere } from '../events/bus-access.ts';
import { openBus } from '../events/open-bus.ts';
import { openHub } from '../hub-access.ts';
import { stateDirectory } from '../state-directory.ts';
import { openHubAnywhere } from '../install/hub/hub-in-pods.ts';
import { connectAsInspector } from '../up/state/people-connection.ts';

/** A hub as people may read it: its streams by the read-only user, and its API server by their kubeconfig. */
export interface HubToRead {
  readonly nc: NatsConnection;
  readonly client: KubeClient;
  close(): Promise<void>;
}

/** API server of the hub in that directory, as its administrator. */
export function kubernetesIn(stateDir: string): KubeClient {
  const access = loadKubeAccess({ path: join(stateDir, 'kubernetes', 'kubeconfig'), context: undefined });
  return createKubeClient(access, { fieldManager: 'rollcall-cli', userAgent: `rollcall/${rollcallVersion}` });
}

/**
 * The directory of the hub that is meant, where it is on this machine: as named, or the usual one unless flags or the environment
 * are about another hub.
 */
export function ownStateDirectory({ keys, ...flags }: BusFlags & { keys?: string }): string | undefined {
  if (keys !== undefined) return keys;
  const usual = stateDirectory();
  return !isElsewhere(flags) && existsSync(join(usual, 'hub.json')) ? usual : undefined;
}

/**
 * Opens the hub of a state directory, or the one that the other flags, NATS_URL or a context name, wherever it runs.
 * @throws RollcallError HUB_MISSING, HUB_WRONG, USAGE, NOT_FOUND, BUS_UNREACHABLE, BUS_REFUSED; KubeApiError
 */
export async function openHubToRead(flags: BusFlags & { keys?: string }): Promise<HubToRead> {
  const directory = ownStateDirectory(flags);
  if (directory === undefined) {
    const { nc } = await openBus(flags);
    return readable(nc, () => openHub(flags));
  }
  const opened = await openHubAnywhere(directory, flags);
  try {
    const nc = await connectAsInspector(directory, opened.files.address);
    return await readable(nc, () => opened.client ?? kubernetesIn(directory));
  } catch (error) {
    opened.close();
    throw error;
  }
}

async function readable(nc: NatsConnection, open: () => KubeClient): Promise<HubToRead> {
  let client: KubeClient;
  try {
    client = open();
  } catch (error) {
    await nc.close();
    throw error;
  }
  return {
    nc,
    client,
    async close() {
      client.close();
      await nc.close();
    },
  };
}
