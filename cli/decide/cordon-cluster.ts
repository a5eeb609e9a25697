import { RollcallError } from '@rollcall/shared/errors';
import { type KubeClient, resources, type StoredObject } from '@rollcall/shared/kubernetes';
import type { ManagedCluster } from '@rollcall/shared/resources';
import type { DoneFormat, Outcome } from '../get/print-objects.ts';
import { type HubFlags, openHub, sayHub } from '../hub-access.ts';
import { withProgress } from '../terminal/progress.ts';

export interface CordonFlags extends HubFlags {
  readonly dryRun?: boolean;
  readonly output: DoneFormat;
}

type Cluster = StoredObject<ManagedCluster & { metadata: object }>;

function readCluster(client: KubeClient, name: string): Promise<Cluster | undefined> {
  return client.get<Cluster>(resources.managedClusters, { name });
}

/**
 * Marks a cluster so that other tools place nothing new there, or takes the mark away. Rollcall itself places nothing, so
 * nothing that runs is touched.
 * @throws RollcallError NOT_FOUND; KubeApiError
 */
export async function cordonCluster(
  verb: 'cordon' | 'uncordon',
  name: string,
  flags: CordonFlags,
): Promise<Outcome> {
  const client: KubeClient = openHub(flags);
  const unschedulable = verb === 'cordon';
  const resource = resources.managedClusters;
  try {
    sayHub(client);
    const cluster = await withProgress('reading the cluster', readCluster(client, name));
    if (!cluster) throw new RollcallError('NOT_FOUND', `no cluster has the name "${name}"`);
    if ((cluster.spec?.unschedulable ?? false) === unschedulable)
      return { words: `cluster "${name}" is ${verb}ed already`, object: cluster, resource };
    const dryRun = flags.dryRun ?? false;
    const patch = { spec: { unschedulable } };
    const writing = client.mergePatch<Cluster>(resource, name, patch, {
      dryRun,
      strict: true,
    });
    const written = await withProgress('writing the cluster', writing);
    if (dryRun) return { words: 'you may do this (dry run; nothing was changed)', isNothingDone: true };
    return { words: `cluster "${name}" is ${verb}ed`, object: written, resource };
  } finally {
    client.close();
  }
}
