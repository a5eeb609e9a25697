import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { KubeObject } from '@rollcall/shared/kubernetes';
import { parseAllDocuments } from 'yaml';
import { deployFolder } from './deploy-folder.ts';

const folder = join(deployFolder, 'admission');

function objectsIn(directory: string): readonly KubeObject[] {
  return readdirSync(directory)
    .filter((file) => file.endsWith('.yaml'))
    .toSorted()
    .flatMap((file) => parseAllDocuments(readFileSync(join(directory, file), 'utf8')))
    .map((document) => document.toJS() as KubeObject);
}

let admission: readonly KubeObject[] | undefined;
let attribution: readonly KubeObject[] | undefined;

/** Every object of deploy/admission that must be there, as this version ships it; without the attribution, which keep nobody out. */
export function shippedPolicies(): readonly KubeObject[] {
  admission ??= objectsIn(folder);
  return admission;
}

/** The policies that fill in who wrote something: they need not be there. */
export function shippedAttribution(): readonly KubeObject[] {
  attribution ??= objectsIn(join(folder, 'attribution'));
  return attribution;
}
