import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { deployFolder } from '@rollcall/shared/admission/deploy-folder';
import type { KubeObject } from '@rollcall/shared/kubernetes';
import { rollcallVersion } from '@rollcall/shared/service/version';
import { parseAllDocuments } from 'yaml';
import { fillIn, parseTemplate, type TemplatePart } from './template.ts';

export interface DeployTemplate {
  /** Of the file, such as `deployment.yaml`. */
  readonly name: string;
  readonly parts: readonly TemplatePart[];
}

/** The templates of a folder of deploy/, in the order in which they are applied. */
export function deployTemplates(folder: string): readonly DeployTemplate[] {
  const directory = join(deployFolder, folder);
  return readdirSync(directory)
    .filter((file) => file.endsWith('.yaml'))
    .toSorted()
    .map((name) => ({ name, parts: parseTemplate(readFileSync(join(directory, name), 'utf8')) }));
}

/** Everything that a folder of deploy/ makes of these values, as YAML. */
export function renderFolder(folder: string, values: object): string {
  return deployTemplates(folder)
    .map(({ parts }) => fillIn(parts, { ...values, version: rollcallVersion }).trimEnd())
    .filter((text) => text !== '')
    .join('\n---\n');
}

export function objectsIn(yaml: string): KubeObject[] {
  return parseAllDocuments(yaml)
    .map((document) => document.toJS() as KubeObject | null)
    .filter((object) => object !== null);
}

export const shown = ({ kind, metadata }: KubeObject): string =>
  `${kind} ${metadata.namespace === undefined ? '' : `${metadata.namespace}/`}${metadata.name ?? ''}`;
