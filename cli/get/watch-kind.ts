import { setTimeout as delay } from 'node:timers/promises';
import { RollcallError, toRollcallError } from '@rollcall/shared/errors';
import { KubeApiError, type KubeClient, readJsonLines, type Resource } from '@rollcall/shared/kubernetes';
import { kubeApiError } from '@rollcall/shared/kubernetes/kube-api-error';
import { refusal } from '@rollcall/shared/kubernetes/watch';
import { printResult, say } from '../terminal/output.ts';
import { withProgress } from '../terminal/progress.ts';
import { untilStopSignal } from '../stop-signal.ts';
import { type ObjectFormat, objectText, type ShownObject, withoutManagers } from './object-text.ts';
import { asTable, type Page, readPages } from './read-pages.ts';
import { createTablePrinter, type ServerTable } from './table.ts';

interface Watched {
  readonly resource: Resource;
  readonly path: string;
  readonly name: string | undefined;
  readonly output: 'table' | 'wide' | ObjectFormat;
  readonly withNamespace: boolean;
  /** A further query parameter, such as `&labelSelector=…`. */
  readonly selector: string;
}

/** Of all tables of a watch, only the first says which columns there are. */
type WatchedTable = Omit<ServerTable, 'columnDefinitions'> & {
  readonly columnDefinitions: ServerTable['columnDefinitions'] | null;
};

/** One line of a watch: the object, or a table of its one row. */
interface WatchLine {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';
  readonly object: Partial<WatchedTable> & Partial<ShownObject>;
}

/** One page of a list: the objects, or a table of them. */
type ListPage = Page & Partial<ServerTable> & { readonly items?: readonly ShownObject[] };

interface Printer {
  readonly accept: string;
  /** What is there, page by page. */
  list(pages: readonly ListPage[]): void;
  change(object: WatchLine['object']): void;
}

function tablePrinter({ output, withNamespace }: Watched): Printer {
  const table = createTablePrinter({ wide: output === 'wide', withNamespace });
  const show = ({ columnDefinitions, rows = [] }: Partial<WatchedTable>) => {
    const text = table.render({ columnDefinitions: columnDefinitions ?? [], rows });
    if (text !== '') printResult(text);
  };
  return {
    accept: asTable,
    list: (pages) =>
      show({
        columnDefinitions: pages[0]?.columnDefinitions ?? [],
        rows: pages.flatMap(({ rows = [] }) => rows),
      }),
    change: show,
  };
}

function objectPrinter({ output, resource }: Watched): Printer {
  const format = output as ObjectFormat;
  const show = (object: unknown) => {
    const text = objectText(withoutManagers(object as ShownObject), resource, format);
    printResult(format === 'yaml' ? `---\n${text}` : text);
  };
  return {
    accept: 'application/json',
    list: (pages) => pages.flatMap(({ items = [] }) => items).forEach(show),
    change: show,
  };
}

/** The version after which the watch goes on. */
function versionOf({ rows, metadata }: WatchLine['object']): string | undefined {
  return rows?.[0]?.object.metadata.resourceVersion ?? metadata?.resourceVersion;
}

const refused = new Set([401, 403, 404]);
/** The server's word for a version that it does not know any more. */
const forgotten = 410;
const againAfterMs = 1000;

/**
 * Shows what there is and then what changes, as the API server makes its tables, until a signal. A watch that breaks is begun
 * again where it broke; only when the server has forgotten that place is everything shown again.
 * @throws KubeApiError when it may not be watched; KUBE_UNREACHABLE when it cannot be read at the start
 */
export async function watchKind(client: KubeClient, watched: Watched): Promise<void> {
  const ending = new AbortController();
  void untilStopSignal().then(() => ending.abort());
  const { path, name, output } = watched;
  const ofName = name === undefined ? '' : `&fieldSelector=${encodeURIComponent(`metadata.name=${name}`)}`;
  const selector = `${ofName}${watched.selector}`;
  const printer = output === 'table' || output === 'wide' ? tablePrinter(watched) : objectPrinter(watched);

  async function listAll(): Promise<string> {
    const how = { accept: printer.accept, selector };
    const pages = await withProgress('reading the list', readPages<ListPage>(client, path, how));
    printer.list(pages);
    const isEmpty = pages.every(({ rows = [], items = [] }) => rows.length + items.length === 0);
    if (isEmpty) say(name === undefined ? 'No resources found.' : `there is none of the name "${name}" yet`);
    return pages[0]?.metadata?.resourceVersion ?? '';
  }

  let version: string | undefined = await listAll();
  async function follow(from: string): Promise<void> {
    const query = `?watch=true&allowWatchBookmarks=true&resourceVersion=${from}${selector}`;
    const stream = await client.openStream(`${path}${query}`, {
      signal: ending.signal,
      accept: printer.accept,
    });
    const stop = () => void stream.destroy();
    ending.signal.addEventListener('abort', stop, { once: true });
    try {
      if (stream.statusCode !== 200) throw await refusal(stream, path);
      let hasHeard = false;
      for await (const line of readJsonLines(stream)) {
        hasHeard = true;
        const { type, object } = line as WatchLine;
        if (type === 'ERROR') throw kubeApiError(500, JSON.stringify(object), `watch ${path}`);
        if (type !== 'BOOKMARK') printer.change(object);
        version = versionOf(object) ?? version;
      }
      // The API server says something every minute; what ends at once would be begun again and again.
      if (!hasHeard) throw new RollcallError('KUBE_UNREACHABLE', `the watch of ${path} ended too soon`);
    } finally {
      ending.signal.removeEventListener('abort', stop);
      stream.destroy();
    }
  }

  while (!ending.signal.aborted) {
    try {
      version ??= await listAll();
      await follow(version);
    } catch (thrown) {
      if (ending.signal.aborted) return;
      if (thrown instanceof KubeApiError && refused.has(thrown.status)) throw thrown;
      if (thrown instanceof KubeApiError && thrown.status === forgotten) version = undefined;
      say(`the watch broke, trying again: ${toRollcallError(thrown).message}`);
      await delay(againAfterMs, undefined, { signal: ending.signal }).catch(() => undefined);
    }
  }
}
