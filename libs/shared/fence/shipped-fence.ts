import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { KubeObject } from '@rollcall/shared/kubernetes';
import { parseAllDocuments } from 'yaml';

const folder = join(import.meta.dirname, '..', '..', '..', 'deploy', 'fence');

let read: readonly KubeObject[] | undefined;

/** Every object of deploy/fence that must be there, as this version ships it; without the stamps, which keep nobody out. */
export function shippedFence(): readonly KubeObject[] {
  read ??= readdirSync(folder)
    .filter((file) => file.endsWith('.yaml'))
    .toSorted()
    .flatMap((file) => parseAllDocuments(readFileSync(join(folder, file), 'utf8')))
    .map((document) => document.toJS() as KubeObject);
  return read;
}
