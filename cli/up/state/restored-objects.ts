import { rmSync } from 'node:fs';
import { join } from 'node:path';
import {
  isAlreadyExists,
  KubeApiError,
  type KubeClient,
  type KubeObject,
  resources,
} from '@rollcall/shared/kubernetes';
import { annotations } from '@rollcall/shared/resources';
import { onceServed } from '../hub-manifests.ts';
import { readState, writePrivate } from '../private-files.ts';

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

/** A team may have had its tokens in a namespace of its own. */
async function makeNamespace(client: KubeClient, name: string): Promise<void> {
  if (await client.get(resources.namespaces, { name })) return;
  const namespace = { apiVersion: 'v1', kind: resources.namespaces.kind, metadata: { name } };
  await client.create(resources.namespaces, namespace).catch((error: unknown) => {
    if (!isAlreadyExists(error)) throw error;
  });
}

/**
 * Makes them in the API server, once; what is there already is left alone. One that is refused keeps the hub from nothing: it stays
 * in the file, and the next start tries it again.
 * @returns how many were made, and what was refused and why
 * @throws KubeApiError, RollcallError for trouble that passes; the next start tries all of them again
 */
export async function applyRestoredObjects(
  client: KubeClient,
  stateDir: string,
): Promise<{ made: number; refused: readonly string[] }> {
  const objects = readState<KubeObject[]>(pathIn(stateDir)) ?? [];
  let made = 0;
  const kept: KubeObject[] = [];
  const refused: string[] = [];
  for (const object of objects) {
    const resource = kinds.find(({ kind }) => kind === object.kind);
    if (!resource) continue;
    const { namespace, name = '' } = object.metadata;
    try {
      if (namespace !== undefined) await makeNamespace(client, namespace);
      await onceServed(() => client.create(resource, object, { namespace }));
      made++;
    } catch (error) {
      if (isAlreadyExists(error)) continue;
      if (!(error instanceof KubeApiError) || error.retry) throw error;
      kept.push(object);
      refused.push(
        `${object.kind} ${namespace === undefined ? '' : `${namespace}/`}${name}: ${error.message}`,
      );
    }
  }
  if (kept.length > 0) writePrivate(pathIn(stateDir), JSON.stringify(kept));
  else rmSync(pathIn(stateDir), { force: true });
  return { made, refused };
}
