import { RollcallError } from '@rollcall/shared/errors';
import type { KubeClient, KubeObject, Resource } from '@rollcall/shared/kubernetes';
import { persistentVolumes, storageClasses } from '../workloads.ts';

/**
 * Refuses a class of volumes that nothing can give: the claim would wait for ever, and the class of a claim can never be changed.
 * @param name - empty: the default of the cluster, or a volume that has none
 * @throws RollcallError CONFIG_INVALID with those that are there
 */
export async function refuseMissingStorageClass(client: KubeClient, name: string): Promise<void> {
  if (name === '') return;
  // Who may not look at them installs all the same, and is told while waiting.
  const read = <Found extends KubeObject>(resource: Resource) =>
    client.list<Found>(resource, {}).catch(() => undefined);
  const classes = await read(storageClasses);
  const volumes = await read<KubeObject<{ storageClassName?: string }>>(persistentVolumes);
  if (!classes || !volumes) return;
  const there = classes.map(({ metadata }) => metadata.name);
  if (there.includes(name) || volumes.some(({ spec }) => spec?.storageClassName === name)) return;
  const others = there.length === 0 ? 'there is no StorageClass at all' : `there is ${there.join(', ')}`;
  throw new RollcallError(
    'CONFIG_INVALID',
    `nats.storageClassName is "${name}", and no StorageClass has that name (${others}), nor has a PersistentVolume that class`,
  );
}
