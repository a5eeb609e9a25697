import { RollcallError } from '@rollcall/shared/errors';
import { type KubeClient, type KubeObject, resources } from '@rollcall/shared/kubernetes';
import { isHubId } from '@rollcall/shared/trust/keys';

/** What whoever joins or watches a hub must know of it; nothing of it is secret. */
export interface HubInfo {
  readonly hubId: string;
  /** `host:port` each, as agents reach them. */
  readonly addresses: readonly string[];
  readonly caPem: string;
  /** `sha256:<hex>` of the CA's public key. */
  readonly caCertHash: string;
  /** Epoch of the hub: one more after every restore from a backup. */
  readonly epoch: number;
}

type ConfigMap = KubeObject & { data?: Record<string, string> };

/**
 * Reads ConfigMap rollcall-hub (surfaces: "Names of things").
 * @returns undefined where the cluster is no hub, or says an id that no hub has: it becomes a file's name (backup) and part of commands
 */
export async function findHubInfo(client: Pick<KubeClient, 'get'>): Promise<HubInfo | undefined> {
  const where = { name: 'rollcall-hub', namespace: 'rollcall-system' };
  const found = await client.get<ConfigMap>(resources.configMaps, where);
  const { hubId, addresses, caBundle, caCertHash, epoch = '1' } = found?.data ?? {};
  if (!hubId || !isHubId(hubId) || !addresses || !caBundle || !caCertHash) return undefined;
  return {
    hubId,
    addresses: addresses.split(',').map((address) => address.trim()),
    caPem: caBundle,
    caCertHash,
    epoch: Number(epoch),
  };
}

/** @throws RollcallError HUB_MISSING */
export async function readHubInfo(client: Pick<KubeClient, 'get' | 'access'>): Promise<HubInfo> {
  const info = await findHubInfo(client);
  if (info) return info;
  throw new RollcallError(
    'HUB_MISSING',
    `${client.access.server} is no hub: its namespace rollcall-system has no ConfigMap rollcall-hub that names one`,
  );
}
