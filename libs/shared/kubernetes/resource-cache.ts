import type { KubeClient } from './kube-client.ts';
import { objectKey, type KubeObject, type StoredObject } from './objects.ts';
import type { Resource } from './resources.ts';
import { watchResource, type WatchEvent, type WatchOptions } from './watch.ts';

/** The objects of a resource as last seen, kept current by a watch. The objects are shared: never change them. */
export interface ResourceCache<T extends KubeObject> {
  /** @param key - as `objectKey` makes it */
  get(key: string): StoredObject<T> | undefined;
  list(): StoredObject<T>[];
  /** Resolves after the first complete list; rejects if the signal is aborted before. */
  whenSynced: Promise<void>;
  /** Called after the cache has taken the change. @returns how to stop listening */
  onChange(listener: (event: WatchEvent<T>) => void): () => void;
  /** Called after every complete list, when the cache has taken it, with its version. */
  onListed(listener: (resourceVersion: string) => void): void;
  /** Resolves once the signal was aborted and the connection is closed. */
  whenEnded: Promise<void>;
}

export type CacheOptions<T extends KubeObject> = Omit<WatchOptions<T>, 'onEvent'>;

/** Starts a watch at once that feeds the cache until `options.signal` is aborted. */
export function createResourceCache<T extends KubeObject>(
  client: KubeClient,
  resource: Resource,
  options: CacheOptions<T>,
): ResourceCache<T> {
  const objects = new Map<string, StoredObject<T>>();
  const listeners = new Set<(event: WatchEvent<T>) => void>();
  const listedListeners = new Set<(resourceVersion: string) => void>();
  const synced = Promise.withResolvers<void>();
  // Who does not wait for it must not be ended by an unhandled rejection.
  synced.promise.catch(() => undefined);

  const whenEnded = watchResource<T>(client, resource, {
    ...options,
    onEvent: (event) => {
      const key = objectKey(event.object.metadata);
      if (event.kind === 'deleted') objects.delete(key);
      else objects.set(key, event.object);
      for (const listener of listeners) listener(event);
    },
    onSynced: (resourceVersion) => {
      for (const listener of listedListeners) listener(resourceVersion);
      synced.resolve();
      options.onSynced?.(resourceVersion);
    },
  }).finally(() => synced.reject(options.signal.reason));

  return {
    get: (key) => objects.get(key),
    list: () => [...objects.values()],
    whenSynced: synced.promise,
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    onListed: (listener) => void listedListeners.add(listener),
    whenEnded,
  };
}
