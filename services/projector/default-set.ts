import { isAlreadyExists, isForbidden, type KubeClient } from '@rollcall/shared/kubernetes';
import { resources } from '@rollcall/shared/kubernetes';
import { apiVersion, managedClusterSet } from '@rollcall/shared/resources';
import type { Logger } from '@rollcall/shared/service';

/** The set that clusters are put into when nothing says otherwise. Made at start if it is missing; removing it later is a person's right. */
export async function ensureDefaultSet(client: KubeClient, logger: Logger): Promise<void> {
  const set = {
    apiVersion,
    kind: managedClusterSet.kind,
    metadata: { name: 'default' },
    spec: { selector: { type: 'ExclusiveLabel' } },
  };
  try {
    await client.create(resources.managedClusterSets, set);
  } catch (error) {
    if (isAlreadyExists(error)) return;
    if (!isForbidden(error)) throw error;
    logger.warn({ err: error, object: 'managedclustersets/default' }, 'the default set cannot be made');
  }
}
