import { readFileSync } from 'node:fs';
import { yamlTooDeep } from '@rollcall/shared/config';
import { RollcallError } from '@rollcall/shared/errors';
import { isNotFound, type KubeClient } from '@rollcall/shared/kubernetes';
import { parseAllDocuments } from 'yaml';
import { type ForeignHead, foreignHeadSchema, type ForeignSystem } from './foreign-cluster.ts';

/** Objects of a system, and what was given beside them. */
export interface ForeignObjects {
  readonly objects: readonly ForeignHead[];
  readonly sets: readonly ForeignHead[];
  /** `Kind/name` of what was not looked at. */
  readonly others: readonly string[];
}

function isOf(kind: string | undefined, { group }: ForeignSystem, object: ForeignHead): boolean {
  return object.kind === kind && object.apiVersion.startsWith(`${group}/`);
}

/** @throws RollcallError USAGE */
function documentsOf(path: string): unknown[] {
  let text: string;
  try {
    text = readFileSync(path === '-' ? 0 : path, 'utf8');
  } catch (cause) {
    throw new RollcallError('USAGE', `cannot read "${path}"`, { cause });
  }
  const tooDeep = yamlTooDeep(text);
  if (tooDeep !== undefined) throw new RollcallError('USAGE', `"${path}" cannot be read as YAML: ${tooDeep}`);
  const documents = parseAllDocuments(text);
  return (Array.isArray(documents) ? documents : []).map((document) => {
    try {
      const [error] = document.errors;
      if (error) throw error;
      const read: unknown = document.toJS({ maxAliasCount: 100 });
      // What contains itself is no JSON, and no object of Kubernetes.
      JSON.stringify(read);
      return read;
    } catch (cause) {
      const [line] = (cause instanceof Error ? cause.message : String(cause)).split('\n');
      throw new RollcallError('USAGE', `"${path}" cannot be read as YAML: ${line}`, { cause });
    }
  });
}

/** `kubectl get -o yaml` prints a List of them. */
function itemsOf(document: unknown): unknown[] {
  const { kind, items } = (document ?? {}) as { kind?: unknown; items?: unknown };
  return typeof kind === 'string' && kind.endsWith('List') && Array.isArray(items) ? items : [document];
}

/**
 * Reads files in which cluster objects of a system stand, one document each or in Lists.
 * @throws RollcallError USAGE where one cannot be read, or something in it is no Kubernetes object
 */
export function foreignObjectsIn(paths: readonly string[], system: ForeignSystem): ForeignObjects {
  const objects: ForeignHead[] = [];
  const sets: ForeignHead[] = [];
  const others: string[] = [];
  for (const path of paths) {
    const items = documentsOf(path)
      .flatMap(itemsOf)
      .filter((item) => item !== null && item !== undefined);
    for (const item of items) {
      const { data } = foreignHeadSchema.safeParse(item);
      if (!data) throw new RollcallError('USAGE', `"${path}" holds something that is no Kubernetes object`);
      if (isOf(system.kind, system, data)) objects.push(data);
      else if (isOf(system.sets?.kind, system, data)) sets.push(data);
      else others.push(`${data.kind}/${data.metadata.name}`);
    }
  }
  return { objects, sets, others };
}

async function listObjects(
  client: KubeClient,
  { group, namespaced }: ForeignSystem,
  { version, plural, kind }: Pick<ForeignSystem, 'version' | 'plural' | 'kind'>,
): Promise<ForeignHead[]> {
  const found = await client.list({ group, version, plural, kind, namespaced });
  const apiVersion = `${group}/${version}`;
  // In a list the items do not say of which kind they are.
  return found.map((object) => foreignHeadSchema.parse({ ...object, apiVersion, kind }));
}

/** A hub of an older version may have none. */
async function listSets(client: KubeClient, system: ForeignSystem): Promise<ForeignHead[]> {
  try {
    return system.sets ? await listObjects(client, system, system.sets) : [];
  } catch (error) {
    if (isNotFound(error)) return [];
    throw error;
  }
}

/**
 * Lists them on the hub of that system.
 * @throws RollcallError NOT_FOUND where there is no such kind; KubeApiError
 */
export async function foreignObjectsOn(client: KubeClient, system: ForeignSystem): Promise<ForeignObjects> {
  const { group, plural, title } = system;
  try {
    const objects = await listObjects(client, system, system);
    return { objects, sets: await listSets(client, system), others: [] };
  } catch (error) {
    if (!isNotFound(error)) throw error;
    const message = `${client.access.server} has no ${plural}.${group}: it is no hub of ${title}`;
    throw new RollcallError('NOT_FOUND', message, { cause: error });
  }
}
