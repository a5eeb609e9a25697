import { RollcallError } from '@rollcall/shared/errors';
import type { KubeClient, KubeObject, Resource } from '@rollcall/shared/kubernetes';
import { persistentVolumes, statefulSets, storageClasses } from '../workloads.ts';

/** In the words of command and chart, which both put names in. */
export const classMessages = {
  missing:
    'nats.storageClassName is %q, and no StorageClass has that name, nor has a PersistentVolume that class',
  changed:
    'nats.storageClassName is %q, and the servers have volumes of class %q, which never changes: leave it, or delete StatefulSet rollcall-nats and its PersistentVolumeClaims while nothing is on them',
} as const;

const filled = (message: string, ...names: readonly string[]) =>
  names.reduce((text, name) => text.replace('%q', JSON.stringify(name)), message);

type Servers = KubeObject<{ volumeClaimTemplates?: readonly { spec?: { storageClassName?: string } }[] }>;

/**
 * Refuses a class of volumes that nothing can give, and another one than the servers have: the claim would wait for ever, and the
 * class of a claim can never be changed.
 * @param name - empty: the default of the cluster, or a volume that has none
 * @throws RollcallError CONFIG_INVALID with those that are there
 */
export async function refuseStorageClass(client: KubeClient, name: string): Promise<void> {
  const where = { name: 'rollcall-nats', namespace: 'rollcall-system' };
  const servers = await client.get<Servers>(statefulSets, where);
  if (servers) {
    const before = servers.spec?.volumeClaimTemplates?.[0]?.spec?.storageClassName ?? '';
    if (before === name) return;
    throw new RollcallError('CONFIG_INVALID', filled(classMessages.changed, name, before));
  }
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
  throw new RollcallError('CONFIG_INVALID', `${filled(classMessages.missing, name)} (${others})`);
}
