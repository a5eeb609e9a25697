import { setTimeout as delay } from 'node:timers/promises';
import { RollcallError } from '@rollcall/shared/errors';
import {
  isForbidden,
  type KubeClient,
  type KubeObject,
  type Resource,
  type StoredObject,
  watchResource,
} from '@rollcall/shared/kubernetes';

/**
 * Watches an object until it is gone, or another one has its name.
 * @param on.tell - is given what remains, each time that it changes
 * @param on.signal - ends the wait early, as if the time were over
 * @throws RollcallError DEADLINE_EXCEEDED with the last of it; KubeApiError when we may not watch it
 */
export async function untilGone<T extends KubeObject>(
  client: KubeClient,
  on: {
    resource: Resource;
    object: StoredObject<T>;
    timeoutMs: number;
    remaining(object: StoredObject<T>): string;
    tell(remaining: string): void;
    signal?: AbortSignal;
  },
): Promise<void> {
  const { name, uid } = on.object.metadata;
  const ending = new AbortController();
  const gone = Promise.withResolvers<'gone'>();
  let told = '';
  const look = (object: StoredObject<T> | undefined): void => {
    if (object?.metadata.uid !== uid) return gone.resolve('gone');
    const remaining = on.remaining(object);
    if (remaining !== '' && remaining !== told) on.tell((told = remaining));
  };
  const watching = watchResource<T>(client, on.resource, {
    fieldSelector: `metadata.name=${name}`,
    signal: ending.signal,
    onEvent: (event) => look(event.kind === 'deleted' ? undefined : event.object),
    onError: (error) => {
      if (isForbidden(error)) gone.reject(error);
    },
  });
  // It may have gone before the watch began: then nothing is ever said of it.
  const asking = client.get<T>(on.resource, { name }).then((object) => object ?? look(undefined));
  asking.catch(gone.reject);
  const signal = on.signal ? AbortSignal.any([ending.signal, on.signal]) : ending.signal;
  const late = delay(on.timeoutMs, 'late' as const, { signal }).catch(() => 'late' as const);
  try {
    if ((await Promise.race([gone.promise, late])) === 'gone') return;
  } finally {
    ending.abort();
    await watching;
  }
  const rest = told === '' ? '' : `; ${told}`;
  throw new RollcallError(
    'DEADLINE_EXCEEDED',
    `${on.resource.kind} "${name}" is not gone after ${on.timeoutMs / 1000} s${rest}`,
  );
}
