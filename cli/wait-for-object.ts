import { setTimeout as delay } from 'node:timers/promises';
import {
  isForbidden,
  type KubeClient,
  type KubeObject,
  type Resource,
  type StoredObject,
  watchResource,
} from '@rollcall/shared/kubernetes';

/**
 * Watches one object until it is as hoped.
 * @param on.signal - ends the wait early, as if the time were over
 * @returns the object, or undefined when it was not so in time
 * @throws KubeApiError when we may not watch it
 */
export async function waitForObject<T extends KubeObject>(
  client: KubeClient,
  on: {
    resource: Resource;
    name: string;
    namespace?: string | undefined;
    timeoutMs: number;
    signal?: AbortSignal;
  },
  isAsHoped: (object: StoredObject<T>) => boolean,
): Promise<StoredObject<T> | undefined> {
  const ending = new AbortController();
  const found = Promise.withResolvers<StoredObject<T> | undefined>();
  const watching = watchResource<T>(client, on.resource, {
    namespace: on.namespace,
    fieldSelector: `metadata.name=${on.name}`,
    signal: ending.signal,
    onEvent: (event) => {
      if (event.kind !== 'deleted' && isAsHoped(event.object)) found.resolve(event.object);
    },
    onError: (error) => {
      if (isForbidden(error)) found.reject(error);
    },
  });
  const signal = on.signal ? AbortSignal.any([ending.signal, on.signal]) : ending.signal;
  const late = delay(on.timeoutMs, undefined, { signal }).catch(() => undefined);
  try {
    return await Promise.race([found.promise, late]);
  } finally {
    ending.abort();
    await watching;
  }
}
