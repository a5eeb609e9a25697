import { RollcallError } from '@rollcall/shared/errors';
import type { KubeClient, Resource } from '@rollcall/shared/kubernetes';
import { isNotFound } from '@rollcall/shared/kubernetes/kube-api-error';
import type { BusFlags } from '../events/bus-access.ts';
import { openHub } from '../hub-access.ts';
import { printResult, say } from '../terminal/output.ts';
import { withProgress } from '../terminal/progress.ts';
import { resourceOfName } from './kind-names.ts';
import type { ObjectFormat, ShownObject } from './object-text.ts';
import { printObjects } from './print-objects.ts';
import { asTable, type Page, readJson, readPages } from './read-pages.ts';
import { renderTable, type ServerTable } from './table.ts';

export interface GetFlags extends BusFlags {
  readonly namespace?: string;
  readonly output: 'table' | 'wide' | ObjectFormat;
  readonly watch?: boolean;
  readonly live?: boolean;
}

interface ObjectList extends Page {
  readonly items: readonly ShownObject[];
}

/** Tokens are in namespaces and are shown of all of them unless one is named. */
function pathOf({ group, version, plural, namespaced }: Resource, namespace: string | undefined): string {
  const place = namespaced && namespace !== undefined ? `namespaces/${encodeURIComponent(namespace)}/` : '';
  return `/apis/${group}/${version}/${place}${plural}`;
}

/**
 * `rollcall get KIND [NAME…]`.
 * @throws RollcallError USAGE; KubeApiError
 */
export async function get(kind: string, names: readonly string[], flags: GetFlags): Promise<void> {
  const resource = resourceOfName(kind);
  if (flags.watch && names.length > 1) {
    throw new RollcallError('USAGE', '--watch takes one name or none');
  }
  const client = openHub(flags);
  try {
    const namespace =
      flags.namespace ?? (resource.namespaced && names.length > 0 ? 'rollcall-join' : undefined);
    const path = pathOf(resource, namespace);
    const withNamespace = resource.namespaced && namespace === undefined;
    if (flags.watch) {
      const { watchKind } = await import('./watch-kind.ts');
      await watchKind(client, { resource, path, name: names[0], output: flags.output, withNamespace });
    } else if (flags.output === 'table' || flags.output === 'wide') {
      const tables = await withProgress('reading', readTables(client, path, names));
      const table = { columnDefinitions: [], ...tables[0], rows: tables.flatMap(({ rows }) => rows) };
      if (table.rows.length === 0) say('No resources found.');
      else printResult(renderTable(table, { wide: flags.output === 'wide', withNamespace }));
    } else {
      const objects = await withProgress('reading', readObjects(client, path, names));
      printObjects(objects, { resource, isOne: names.length === 1, output: flags.output });
    }
  } finally {
    client.close();
  }
}

/** @throws RollcallError NOT_FOUND; KubeApiError, also where the API server does not know the kind */
async function readNamed<T>(
  client: KubeClient,
  { path, name }: { path: string; name: string },
  accept: string,
): Promise<T> {
  try {
    return await readJson<T>(client, `${path}/${encodeURIComponent(name)}`, accept);
  } catch (thrown) {
    if (!isNotFound(thrown) || thrown.details.name !== name) throw thrown;
    throw new RollcallError('NOT_FOUND', `there is none of the name "${name}"`, { cause: thrown });
  }
}

async function readTables(
  client: KubeClient,
  path: string,
  names: readonly string[],
): Promise<ServerTable[]> {
  if (names.length === 0) return readPages<ServerTable & Page>(client, path, { accept: asTable });
  return Promise.all(names.map((name) => readNamed<ServerTable>(client, { path, name }, asTable)));
}

async function readObjects(
  client: KubeClient,
  path: string,
  names: readonly string[],
): Promise<readonly ShownObject[]> {
  if (names.length === 0) {
    const pages = await readPages<ObjectList>(client, path, { accept: 'application/json' });
    return pages.flatMap(({ items }) => items);
  }
  return Promise.all(names.map((name) => readNamed<ShownObject>(client, { path, name }, 'application/json')));
}
