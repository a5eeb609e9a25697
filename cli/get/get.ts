import { stringify } from 'yaml';
import type { KubeClient, Resource } from '@rollcall/shared/kubernetes';
import { kubeApiError } from '@rollcall/shared/kubernetes/kube-api-error';
import { type HubFlags, openHub } from '../hub-access.ts';
import { printResult, say } from '../output.ts';
import { printableJson, printableLines } from '../printable.ts';
import { resourceOfName } from './kind-names.ts';
import { renderTable, type ServerTable } from './table.ts';

export interface GetFlags extends HubFlags {
  readonly namespace?: string;
  readonly output: 'table' | 'wide' | 'json' | 'yaml' | 'name';
}

const asTable = 'application/json;as=Table;g=meta.k8s.io;v=v1,application/json';
const pageSize = 500;

interface Page {
  readonly metadata?: { readonly continue?: string };
}
interface ObjectList extends Page {
  readonly items: readonly { readonly metadata: { readonly name: string } }[];
}

/** Tokens are in namespaces and are shown of all of them unless one is named. */
function pathOf({ group, version, plural, namespaced }: Resource, namespace: string | undefined): string {
  const place = namespaced && namespace !== undefined ? `namespaces/${encodeURIComponent(namespace)}/` : '';
  return `/apis/${group}/${version}/${place}${plural}`;
}

async function read<T>(client: KubeClient, path: string, accept: string): Promise<T> {
  const { status, body } = await client.raw(path, { accept });
  if (status !== 200) throw kubeApiError(status, body, `GET ${path}`);
  return JSON.parse(body) as T;
}

async function readPages<T extends Page>(client: KubeClient, path: string, accept: string): Promise<T[]> {
  const pages: T[] = [];
  let next = '';
  do {
    const more = next === '' ? '' : `&continue=${encodeURIComponent(next)}`;
    const page = await read<T>(client, `${path}?limit=${pageSize}${more}`, accept);
    pages.push(page);
    next = page.metadata?.continue ?? '';
  } while (next !== '');
  return pages;
}

/**
 * `rollcall get KIND [NAME…]`.
 * @throws RollcallError USAGE; KubeApiError
 */
export async function get(kind: string, names: readonly string[], flags: GetFlags): Promise<void> {
  const resource = resourceOfName(kind);
  const client = openHub(flags);
  try {
    const namespace =
      flags.namespace ?? (resource.namespaced && names.length > 0 ? 'rollcall-join' : undefined);
    const path = pathOf(resource, namespace);
    if (flags.output === 'table' || flags.output === 'wide') {
      const tables = await readTables(client, path, names);
      const table = { columnDefinitions: [], ...tables[0], rows: tables.flatMap(({ rows }) => rows) };
      const withNamespace = resource.namespaced && namespace === undefined;
      if (table.rows.length === 0) say('No resources found.');
      else printResult(renderTable(table, { wide: flags.output === 'wide', withNamespace }));
    } else {
      printObjects(await readObjects(client, path, names), { resource, names, output: flags.output });
    }
  } finally {
    client.close();
  }
}

async function readTables(
  client: KubeClient,
  path: string,
  names: readonly string[],
): Promise<ServerTable[]> {
  if (names.length === 0) return readPages<ServerTable & Page>(client, path, asTable);
  const paths = names.map((name) => `${path}/${encodeURIComponent(name)}`);
  return Promise.all(paths.map((one) => read<ServerTable>(client, one, asTable)));
}

async function readObjects(
  client: KubeClient,
  path: string,
  names: readonly string[],
): Promise<ObjectList['items']> {
  if (names.length === 0) {
    return (await readPages<ObjectList>(client, path, 'application/json')).flatMap(({ items }) => items);
  }
  const paths = names.map((name) => `${path}/${encodeURIComponent(name)}`);
  return Promise.all(paths.map((one) => read<ObjectList['items'][number]>(client, one, 'application/json')));
}

function printObjects(
  objects: ObjectList['items'],
  how: { resource: Resource; names: readonly string[]; output: 'json' | 'yaml' | 'name' },
): void {
  const { resource, names, output } = how;
  if (output === 'name') {
    for (const { metadata } of objects)
      printResult(`${resource.kind.toLowerCase()}.${resource.group}/${metadata.name}`);
    return;
  }
  // One name gives the object itself, as with kubectl; everything else a list.
  const whole = names.length === 1 ? objects[0] : { apiVersion: 'v1', kind: 'List', items: objects };
  printResult(output === 'yaml' ? printableLines(stringify(whole).trimEnd()) : printableJson(whole, 2));
}
