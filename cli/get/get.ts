import { RollcallError } from '@rollcall/shared/errors';
import { type KubeClient, type Resource, resources } from '@rollcall/shared/kubernetes';
import { isNotFound } from '@rollcall/shared/kubernetes/kube-api-error';
import type { BusFlags } from '../events/bus-access.ts';
import { openHub } from '../hub-access.ts';
import { printResult, say } from '../terminal/output.ts';
import { withProgress } from '../terminal/progress.ts';
import { readHeartbeatsUnheard } from './heartbeats-unheard.ts';
import { resourceOfName } from './kind-names.ts';
import type { ObjectFormat, ShownObject } from './object-text.ts';
import { printObjects } from './print-objects.ts';
import { asTable, type Page, readJson, readPages } from './read-pages.ts';
import {
  clusterSelection,
  labelSelectorOf,
  looksAtObjects,
  looksAtServers,
  type SelectFlags,
  selectObjects,
} from './select-clusters.ts';
import { renderTable, type ServerTable } from './table.ts';

export interface GetFlags extends BusFlags, SelectFlags {
  readonly namespace?: string;
  readonly output: 'table' | 'wide' | ObjectFormat;
  readonly watch?: boolean;
  readonly live?: boolean;
  /** Clusters as the history says that they were then. */
  readonly at?: string;
}

interface ObjectList extends Page {
  readonly items: readonly ShownObject[];
}

/** Tokens are in namespaces and are shown of all of them unless one is named. */
function pathOf({ group, version, plural, namespaced }: Resource, namespace: string | undefined): string {
  const place = namespaced && namespace !== undefined ? `namespaces/${encodeURIComponent(namespace)}/` : '';
  return `/apis/${group}/${version}/${place}${plural}`;
}

/** Only who selects by it needs the bus. */
const serversBy = (flags: BusFlags) => async (ids: readonly string[]) => {
  const { serversOfClusters } = await import('./servers-of-clusters.ts');
  return serversOfClusters(flags, ids);
};

/** @throws RollcallError USAGE: what only some kinds, or only a list, can be chosen by */
function refuseUnfit(resource: Resource, names: readonly string[], flags: GetFlags): void {
  const isSelecting = labelSelectorOf(flags) !== '' || looksAtObjects(flags);
  if (names.length > 0 && isSelecting)
    throw new RollcallError('USAGE', 'give either names or what to select by');
  const isOfClusters = flags.set !== undefined || looksAtObjects(flags);
  if (isOfClusters && resource !== resources.managedClusters)
    throw new RollcallError(
      'USAGE',
      '--set, --state, --version, --since, --filter and --sort-by are for clusters',
    );
  if (flags.watch && looksAtObjects(flags))
    throw new RollcallError(
      'USAGE',
      '--watch takes --selector and --set; `rollcall console` filters what changes',
    );
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
  refuseUnfit(resource, names, flags);
  const select = looksAtObjects(flags) ? clusterSelection(flags, Date.now()) : undefined;
  const choice = select && { select, serversOf: looksAtServers(flags) ? serversBy(flags) : undefined };
  const labelSelector = labelSelectorOf(flags);
  const selector = labelSelector === '' ? '' : `&labelSelector=${encodeURIComponent(labelSelector)}`;
  const client = openHub(flags);
  const isTable = flags.output === 'table' || flags.output === 'wide';
  const unheard =
    isTable && !flags.watch && resource === resources.managedClusters
      ? readHeartbeatsUnheard(client)
      : undefined;
  try {
    const namespace =
      flags.namespace ?? (resource.namespaced && names.length > 0 ? 'rollcall-join' : undefined);
    const path = pathOf(resource, namespace);
    const withNamespace = resource.namespaced && namespace === undefined;
    if (flags.watch) {
      const { watchKind } = await import('./watch-kind.ts');
      const watched = { resource, path, name: names[0], output: flags.output, withNamespace };
      await watchKind(client, { ...watched, selector });
    } else if (isTable) {
      // Rows have the name of their object alone, unless more is asked for.
      const query = choice ? `${selector}&includeObject=Object` : selector;
      const tables = await withProgress('reading', readTables(client, path, { names, query }));
      const all = tables.flatMap(({ rows }) => rows);
      const rows = choice ? await selectObjects(all, ({ object }) => object, choice) : all;
      const table = { columnDefinitions: [], ...tables[0], rows };
      if (table.rows.length === 0) say('No resources found.');
      else printResult(renderTable(table, { wide: flags.output === 'wide', withNamespace }));
      const said = await unheard;
      if (said !== undefined) say(said);
    } else {
      const all = await withProgress('reading', readObjects(client, path, { names, query: selector }));
      const objects = choice ? await selectObjects(all, (object) => object, choice) : all;
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
  { names, query }: { names: readonly string[]; query: string },
): Promise<ServerTable[]> {
  if (names.length === 0)
    return readPages<ServerTable & Page>(client, path, { accept: asTable, selector: query });
  return Promise.all(names.map((name) => readNamed<ServerTable>(client, { path, name }, asTable)));
}

async function readObjects(
  client: KubeClient,
  path: string,
  { names, query }: { names: readonly string[]; query: string },
): Promise<readonly ShownObject[]> {
  if (names.length === 0) {
    const pages = await readPages<ObjectList>(client, path, { accept: 'application/json', selector: query });
    return pages.flatMap(({ items }) => items);
  }
  return Promise.all(names.map((name) => readNamed<ShownObject>(client, { path, name }, 'application/json')));
}
