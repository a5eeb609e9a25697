import { RollcallError } from '@rollcall/shared/errors';
import { type KubeClient, resources } from '@rollcall/shared/kubernetes';
import type { ManagedCluster } from '@rollcall/shared/resources';
import { type HubFlags, openHub, sayHub } from '../hub-access.ts';
import { printResult, say } from '../output.ts';
import { withProgress } from '../progress.ts';

export interface CordonFlags extends HubFlags {
  readonly dryRun?: boolean;
}

type Cluster = ManagedCluster & { metadata: object };

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
): Promise<void> {
  const client: KubeClient = openHub(flags);
  const unschedulable = verb === 'cordon';
  try {
    sayHub(client);
    const cluster = await withProgress('reading the cluster', readCluster(client, name));
    if (!cluster) throw new RollcallError('NOT_FOUND', `no cluster has the name "${name}"`);
    if ((cluster.spec?.unschedulable ?? false) === unschedulable) {
      printResult(`cluster "${name}" is ${verb}ed already`);
      return;
    }
    const dryRun = flags.dryRun ?? false;
    const patch = { spec: { unschedulable } };
    const writing = client.mergePatch(resources.managedClusters, name, patch, { dryRun, strict: true });
    await withProgress('writing the cluster', writing);
    if (dryRun) say('you may do this (dry run; nothing was changed)');
    else printResult(`cluster "${name}" is ${verb}ed`);
  } finally {
    client.close();
  }
}
