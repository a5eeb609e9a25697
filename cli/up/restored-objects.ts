import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { isAlreadyExists, type KubeClient, type KubeObject, resources } from '@rollcall/shared/kubernetes';
import { annotations } from '@rollcall/shared/resources';
import { onceServed } from './hub-manifests.ts';
import { readState, writePrivate } from './private-files.ts';

const pathIn = (stateDir: string) => join(stateDir, 'restored-objects.json');
const kinds = Object.values(resources);

/**
 * Leaves what a backup had of people's objects for the next start. Tokens say of which epoch they are: they are void until a
 * person renews them.
 */
export function keepRestoredObjects(
  stateDir: string,
  objects: readonly KubeObject[],
  formerEpoch: number,
): void {
  const marked = objects.map((object) => {
    if (object.kind !== resources.clusterRegistrationTokens.kind) return object;
    const { metadata } = object;
    const marks = { ...metadata.annotations, [annotations.epoch]: String(formerEpoch) };
    return { ...object, metadata: { ...metadata, annotations: marks } };
  });
  writePrivate(pathIn(stateDir), JSON.stringify(marked));
}

/**
 * Makes them in the API server, once; what is there already is left alone.
 * @returns how many were made
 * @throws KubeApiError at the first that is refused; the next start tries all of them again
 */
export async function applyRestoredObjects(client: KubeClient, stateDir: string): Promise<number> {
  const objects = readState<KubeObject[]>(pathIn(stateDir)) ?? [];
  let made = 0;
  for (const object of objects) {
    const resource = kinds.find(({ kind }) => kind === object.kind);
    if (!resource) continue;
    const { namespace } = object.metadata;
    try {
      await onceServed(() => client.create(resource, object, { namespace }));
      made++;
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
    }
  }
  rmSync(pathIn(stateDir), { force: true });
  return made;
}
