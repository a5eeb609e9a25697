import type { IncomingMessage } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { RollcallError } from '../errors/index.ts';
import { withoutManagedFields } from './client.ts';
import type { KubeClient } from './kube-client.ts';
import { isExpired, isInvalid, kubeApiError } from './kube-api-error.ts';
import { objectKey, type KubeObject, type StoredObject } from './objects.ts';
import { resourcePath, withQuery } from './resource-path.ts';
import type { Resource } from './resources.ts';
import { readJsonLines } from './json-lines.ts';
import { listPages } from './list-pages.ts';

/**
 * What became of one object. `seenBy` tells a real DELETE, which the server reported, from absence: after a gap the
 * object was not in the list any more, which a restored backup or another server behind the address explains as well.
 */
export type WatchEvent<T extends KubeObject> =
  | { kind: 'added' | 'changed'; object: StoredObject<T> }
  | { kind: 'deleted'; object: StoredObject<T>; seenBy: 'watch' | 'relist' };

export interface WatchOptions<T extends KubeObject> {
  namespace?: string | undefined;
  labelSelector?: string | undefined;
  fieldSelector?: string | undefined;
  /** Most objects in one answer of a server that lists in pages, where they are large. Default: 500. */
  pageSize?: number;
  /** What is remembered of an object and handed on; its metadata needs name, uid and resourceVersion. Default: all of it. */
  keep?: (object: StoredObject) => StoredObject<T>;
  /** Ends the watch. */
  signal: AbortSignal;
  /** Errors that end it as well: trying again will not help. Default: none does. */
  isFinal?: (error: unknown) => boolean;
  /** Called in the server's order. What it throws goes to `onError`, and the event comes again after a list. */
  onEvent: (event: WatchEvent<T>) => void;
  /** Whenever all that is there is known: the first time, and after a gap. Is told its version. */
  onSynced?: (resourceVersion: string) => void;
  /** Whenever the server says something in the watch, be it only that nothing has changed. */
  onHeard?: () => void;
  /** What went wrong, before the next attempt. */
  onError?: (error: unknown) => void;
}

/** API servers send a bookmark about every minute, so a longer silence means a dead connection. */
const silenceMs = 150_000;
const backoffFirstMs = 100;
const backoffMaxMs = 10_000;
const defaultPageSize = 500;

/**
 * Follows a resource for as long as the signal lets it: has the server tell all that is there in the watch itself (KEP-3157),
 * watches with bookmarks, goes on from the last version after a break, and has all of it told again only when the server has
 * forgotten that version (410) or may not be the one that it was: another etcd, or an older state of it. Where the watch does
 * not tell it, because the server is older or it broke off, pages of a list do. Keeps the last seen objects to tell what is
 * missing then; unchanged ones are not reported again.
 * @returns resolves, never rejects, once the signal is aborted, or an error was final, and the connection is closed
 */
export async function watchResource<T extends KubeObject>(
  client: KubeClient,
  resource: Resource,
  options: WatchOptions<T>,
): Promise<void> {
  const { signal, keep = (object) => object as StoredObject<T>, isFinal = () => false } = options;
  const known = new Map<string, StoredObject<T>>();
  let version: string | undefined;
  /** A watch that was to tell everything has not. */
  let isListDue = false;
  let failures = 0;

  function synced(missing: ReadonlySet<string>, atVersion: string): void {
    for (const key of missing) forget(key, 'relist');
    options.onSynced?.(atVersion);
  }

  async function listAll(): Promise<string> {
    const missing = new Set(known.keys());
    let listVersion = '';
    const limit = options.pageSize ?? defaultPageSize;
    for await (const page of listPages(client, resource, { ...selection(options), limit, signal })) {
      for (const object of page.items) {
        missing.delete(objectKey(object.metadata));
        take(keep(object), 'relist');
      }
      listVersion = page.resourceVersion;
    }
    synced(missing, listVersion);
    return listVersion;
  }

  function take(object: StoredObject<T>, seenBy: 'watch' | 'relist'): void {
    const key = objectKey(object.metadata);
    const before = known.get(key);
    const isAnother = before !== undefined && before.metadata.uid !== object.metadata.uid;
    if (!isAnother && before?.metadata.resourceVersion === object.metadata.resourceVersion) return;
    if (isAnother) forget(key, seenBy);
    options.onEvent({ kind: before === undefined || isAnother ? 'added' : 'changed', object });
    known.set(key, object);
  }

  function forget(key: string, seenBy: 'watch' | 'relist', last = known.get(key)): void {
    if (last === undefined) return;
    options.onEvent({ kind: 'deleted', object: last, seenBy });
    known.delete(key);
  }

  /** @param startVersion - undefined: all that is there comes first */
  async function watchFrom(startVersion: string | undefined): Promise<void> {
    let missing = startVersion === undefined ? new Set(known.keys()) : undefined;
    let heardAnything = false;
    const path = watchPath(resource, options, startVersion);
    const stream = await client.openStream(path, { signal });
    const abort = (): void => void stream.destroy();
    signal.addEventListener('abort', abort, { once: true });
    // Between the answer's head and here it may have been aborted.
    if (signal.aborted) abort();
    stream.setTimeout(silenceMs, abort);
    try {
      if (stream.statusCode !== 200) {
        const error = await refusal(stream, path);
        // An older server does not know what is asked.
        if (missing && isInvalid(error)) return;
        throw error;
      }
      for await (const line of readJsonLines(stream)) {
        const message = line as WatchLine;
        if (message.type === 'ERROR')
          throw kubeApiError(500, JSON.stringify(message.object), `watch ${path}`);
        const object = withoutManagedFields(message.object);
        const { resourceVersion } = object.metadata;
        if (message.type === 'BOOKMARK') {
          if (missing && isEndOfInitial(object)) {
            synced(missing, resourceVersion);
            missing = undefined;
          }
        } else {
          const key = objectKey(object.metadata);
          const seenBy = missing?.delete(key) ? 'relist' : 'watch';
          if (message.type === 'DELETED') forget(key, 'watch', keep(object));
          else take(keep(object), seenBy);
        }
        if (!missing) version = resourceVersion;
        heardAnything = true;
        failures = 0;
        options.onHeard?.();
      }
      if (!heardAnything || missing)
        throw new RollcallError('KUBE_UNREACHABLE', `the watch of ${resource.plural} ended too soon`);
    } finally {
      isListDue = missing !== undefined;
      signal.removeEventListener('abort', abort);
      stream.destroy();
    }
  }

  /** Asked after a break, at the price of one object: another etcd behind the address, or an older one, ends no watch by itself. */
  async function isSameHistory(since: string): Promise<boolean> {
    const page = await client.listPage<T>(resource, { ...selection(options), limit: 1, signal });
    if (isBefore(page.resourceVersion, since)) return false;
    const [first] = page.items;
    if (!first) return known.size === 0;
    return known.get(objectKey(first.metadata))?.metadata.uid === first.metadata.uid;
  }

  while (!signal.aborted) {
    try {
      if (version !== undefined && failures > 0 && !(await isSameHistory(version))) version = undefined;
      if (version === undefined && isListDue) {
        version = await listAll();
        isListDue = false;
      }
      await watchFrom(version);
    } catch (error) {
      if (signal.aborted || isFinal(error)) return;
      if (isExpired(error)) version = undefined;
      options.onError?.(error);
      await backOff(failures++, signal);
    }
  }
}

/**
 * Whether the server is at a version before that one: it lost its data, or was given older ones, and would say nothing until
 * it has come so far again. Versions count up (KEP-5504); others are not compared.
 */
function isBefore(version: string, startVersion: string): boolean {
  return /^\d+$/.test(version) && /^\d+$/.test(startVersion) && BigInt(version) < BigInt(startVersion);
}

function isEndOfInitial({ metadata }: StoredObject): boolean {
  return metadata.annotations?.['k8s.io/initial-events-end'] === 'true';
}

interface WatchLine {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';
  readonly object: StoredObject;
}

function selection(options: Pick<WatchOptions<KubeObject>, 'namespace' | 'labelSelector' | 'fieldSelector'>) {
  const { namespace, labelSelector, fieldSelector } = options;
  return { namespace, labelSelector, fieldSelector };
}

function watchPath<T extends KubeObject>(
  resource: Resource,
  options: WatchOptions<T>,
  version: string | undefined,
): string {
  return withQuery(resourcePath(resource, { namespace: options.namespace }), {
    watch: true,
    allowWatchBookmarks: true,
    ...(version === undefined
      ? { sendInitialEvents: true, resourceVersionMatch: 'NotOlderThan' }
      : { resourceVersion: version }),
    labelSelector: options.labelSelector,
    fieldSelector: options.fieldSelector,
    // The server ends watches by itself; at different times, so that they do not all come back together.
    timeoutSeconds: 300 + Math.floor(Math.random() * 300),
  });
}

/** What an answer to a watch means whose code is not 200. */
export async function refusal(stream: IncomingMessage, path: string): Promise<Error> {
  const body = await stream.setEncoding('utf8').reduce((text: string, chunk: string) => text + chunk, '');
  return kubeApiError(stream.statusCode ?? 0, body, `watch ${path}`);
}

/** Full jitter: many watchers of one server that comes back do not come back at one time. */
async function backOff(failures: number, signal: AbortSignal): Promise<void> {
  const mostMs = Math.min(backoffMaxMs, backoffFirstMs * 2 ** Math.min(failures, 10));
  await delay(Math.random() * mostMs, undefined, { signal }).catch(() => undefined);
}
