import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { KubeObject } from '@rollcall/shared/kubernetes';
import { parseAllDocuments } from 'yaml';

const folder = join(import.meta.dirname, '..', '..', '..', 'deploy', 'fence');

function objectsIn(directory: string): readonly KubeObject[] {
  return readdirSync(directory)
    .filter((file) => file.endsWith('.yaml'))
    .toSorted()
    .flatMap((file) => parseAllDocuments(readFileSync(join(directory, file), 'utf8')))
    .map((document) => document.toJS() as KubeObject);
}

let fence: readonly KubeObject[] | undefined;
let stamps: readonly KubeObject[] | undefined;

/** Every object of deploy/fence that must be there, as this version ships it; without the stamps, which keep nobody out. */
export function shippedFence(): readonly KubeObject[] {
  fence ??= objectsIn(folder);
  return fence;
}

/** The policies that fill in who wrote something: they need not be there. */
export function shippedStamps(): readonly KubeObject[] {
  stamps ??= objectsIn(join(folder, 'stamp'));
  return stamps;
}
