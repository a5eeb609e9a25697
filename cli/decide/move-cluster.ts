import { RollcallError } from '@rollcall/shared/errors';
import { isForbidden, type KubeClient, resources, type StoredObject } from '@rollcall/shared/kubernetes';
import { labels, type ManagedCluster, type ManagedClusterSet } from '@rollcall/shared/resources';
import type { DoneFormat, Outcome } from '../get/print-objects.ts';
import { type HubFlags, openHub, sayHub } from '../hub-access.ts';
import { withProgress } from '../terminal/progress.ts';

export interface MoveFlags extends HubFlags {
  /** The set that it comes to. */
  readonly to: string;
  readonly dryRun?: boolean;
  readonly output: DoneFormat;
}

type Cluster = StoredObject<ManagedCluster & { metadata: object }>;

/** @throws RollcallError NOT_FOUND */
async function refuseUnknownSet(client: KubeClient, name: string): Promise<void> {
  try {
    const set = await client.get<ManagedClusterSet & { metadata: object }>(resources.managedClusterSets, {
      name,
    });
    if (!set) throw new RollcallError('NOT_FOUND', `no set has the name "${name}"`);
  } catch (thrown) {
    // Who may move a cluster need not see the sets; whether it is there the hub says.
    if (!isForbidden(thrown)) throw thrown;
  }
}

/**
 * Puts a cluster into another set; what is allowed there the hub decides (`managedclustersets/join` on both).
 * @throws RollcallError NOT_FOUND; KubeApiError
 */
export async function moveCluster(name: string, flags: MoveFlags): Promise<Outcome> {
  const client = openHub(flags);
  const resource = resources.managedClusters;
  const { to, dryRun = false } = flags;
  try {
    sayHub(client);
    const cluster = await withProgress('reading the cluster', client.get<Cluster>(resource, { name }));
    if (!cluster) throw new RollcallError('NOT_FOUND', `no cluster has the name "${name}"`);
    if (cluster.metadata.labels?.[labels.clusterSet] === to)
      return { words: `cluster "${name}" is in set "${to}" already`, object: cluster, resource };
    await refuseUnknownSet(client, to);
    const patch = { metadata: { labels: { [labels.clusterSet]: to } } };
    const writing = client.mergePatch<Cluster>(resource, name, patch, { dryRun, strict: true });
    const written = await withProgress('writing the cluster', writing);
    if (dryRun) return { words: 'you may do this (dry run; nothing was changed)', isNothingDone: true };
    return { words: `cluster "${name}" is moved to set "${to}"`, object: written, resource };
  } finally {
    client.close();
  }
}
