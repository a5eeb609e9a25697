import { type KubeClient, type KubeObject, resources } from '@rollcall/shared/kubernetes';
import { findHubInfo } from '@rollcall/shared/hub';

type Cluster = KubeObject<{ readonly clusterId?: string }>;

/**
 * Whether the member is the hub itself and registered there: `rollcall up` does that.
 * @returns the name under which it is registered; undefined also where we may not look
 */
export async function nameAsHubsOwn(
  client: KubeClient,
  expected: { hubId: string; clusterId: string },
): Promise<string | undefined> {
  try {
    const info = await findHubInfo(client);
    if (info?.hubId !== expected.hubId) return undefined;
    const clusters = await client.list<Cluster>(resources.managedClusters);
    return clusters.find(({ spec }) => spec?.clusterId === expected.clusterId)?.metadata.name;
  } catch {
    return undefined;
  }
}
