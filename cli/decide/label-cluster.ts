import { RollcallError } from '@rollcall/shared/errors';
import { resources, type StoredObject } from '@rollcall/shared/kubernetes';
import type { ManagedCluster } from '@rollcall/shared/resources';
import type { DoneFormat, Outcome } from '../get/print-objects.ts';
import { type HubFlags, openHub, sayHub } from '../hub-access.ts';
import { withProgress } from '../terminal/progress.ts';
import { isSo, type LabelChanges, overwritten } from './label-words.ts';

export interface LabelFlags extends HubFlags {
  readonly overwrite?: boolean;
  readonly dryRun?: boolean;
  readonly output: DoneFormat;
}

type Cluster = StoredObject<ManagedCluster & { metadata: object }>;

/**
 * Changes labels of a cluster; which of them are not people's the hub says.
 * @throws RollcallError NOT_FOUND, USAGE where a label has another value; KubeApiError
 */
export async function labelCluster(name: string, changes: LabelChanges, flags: LabelFlags): Promise<Outcome> {
  const client = openHub(flags);
  const resource = resources.managedClusters;
  const { dryRun = false, overwrite = false } = flags;
  try {
    sayHub(client);
    const cluster = await withProgress('reading the cluster', client.get<Cluster>(resource, { name }));
    if (!cluster) throw new RollcallError('NOT_FOUND', `no cluster has the name "${name}"`);
    const before = cluster.metadata.labels ?? {};
    if (isSo(before, changes))
      return { words: `cluster "${name}" has these labels already`, object: cluster, resource };
    const lost = overwrite ? [] : overwritten(before, changes);
    if (lost.length > 0)
      throw new RollcallError('USAGE', `cluster "${name}" has ${lost.join(', ')}; --overwrite replaces that`);
    const patch = { metadata: { labels: changes } };
    const writing = client.mergePatch<Cluster>(resource, name, patch, { dryRun, strict: true });
    const written = await withProgress('writing the cluster', writing);
    if (dryRun) return { words: 'you may do this (dry run; nothing was changed)', isNothingDone: true };
    return { words: `cluster "${name}" is labelled`, object: written, resource };
  } finally {
    client.close();
  }
}
