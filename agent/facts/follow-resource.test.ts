import { expect, test } from 'vitest';
import { KubeApiError } from '@rollcall/shared/kubernetes/kube-api-error';
import { resources } from '@rollcall/shared/kubernetes/resources';
import type { KubeObject, Resource, StoredObject, WatchOptions } from '@rollcall/shared/kubernetes';
import { followResource } from './follow-resource.ts';

const refusal = (status: number) => new KubeApiError('no', { status, reason: '', details: {} });

function anObject(name: string, value: string): StoredObject {
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name, uid: name, resourceVersion: value },
    spec: value,
  };
}

/** A member whose watches the test plays: each call of `next` waits for the next one that is begun. */
function aStage(options: { isServed?: () => boolean } = {}) {
  const { isServed = () => true } = options;
  const ending = new AbortController();
  const begun: { options: WatchOptions<KubeObject>; end: () => void }[] = [];
  let wake = Promise.withResolvers<void>();
  let changes = 0;
  const followed = followResource(
    {
      watch<T extends KubeObject>(_: Resource, given: WatchOptions<T>): Promise<void> {
        const { promise, resolve } = Promise.withResolvers<void>();
        begun.push({ options: given as unknown as WatchOptions<KubeObject>, end: resolve });
        wake.resolve();
        wake = Promise.withResolvers<void>();
        return promise;
      },
    },
    {
      resource: async () => (isServed() ? resources.nodes : undefined),
      keep: ({ spec }) => spec,
      pageSize: 1,
      lookAgainMs: 1,
      onChange: () => changes++,
      signal: ending.signal,
    },
  );
  return {
    followed,
    changes: () => changes,
    end: () => ending.abort(),
    async next() {
      for (;;) {
        const watch = begun.shift();
        if (watch) {
          const { keep, onEvent, onSynced } = watch.options;
          const say = (kind: 'added' | 'changed', object: StoredObject) =>
            onEvent({ kind, object: keep?.(object) ?? object });
          return { ...watch, say, synced: () => onSynced?.('1') };
        }
        await wake.promise;
      }
    },
  };
}

test('nothing is known before the whole list is, and then each change is told', async () => {
  const stage = aStage();
  const watch = await stage.next();
  watch.say('added', anObject('a', '1'));
  expect([stage.followed.latest(), stage.changes()]).toEqual([undefined, 0]);
  watch.synced();
  await stage.followed.firstLook;
  expect([stage.followed.latest()?.get('a'), stage.changes()]).toEqual(['1', 1]);
  watch.say('changed', anObject('a', '1'));
  expect(stage.changes()).toBe(1);
  watch.say('changed', anObject('a', '2'));
  expect([stage.followed.latest()?.get('a'), stage.changes()]).toEqual(['2', 2]);
  stage.end();
  watch.end();
});

test('of an object no more is kept than what is counted', async () => {
  const stage = aStage();
  const watch = await stage.next();
  const kept = watch.options.keep?.({ ...anObject('a', '1'), status: { images: ['large'] } });
  expect(kept).toEqual({
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: 'a', uid: 'a', resourceVersion: '1' },
    kept: '1',
  });
  stage.end();
  watch.end();
});

test.each([401, 403, 404, 405])(
  'an answer of %d ends the watch, and what was seen counts until it is asked again',
  async (status) => {
    const stage = aStage();
    const first = await stage.next();
    first.say('added', anObject('a', '1'));
    first.synced();
    expect(first.options.isFinal?.(refusal(status))).toBe(true);
    first.end();
    const second = await stage.next();
    expect(stage.followed.latest()?.size).toBe(1);
    second.end();
    const third = await stage.next();
    expect([stage.followed.latest(), stage.changes()]).toEqual([undefined, 2]);
    stage.end();
    third.end();
  },
);

test.each([410, 429, 500, 503])('an answer of %d does not', async (status) => {
  const stage = aStage();
  const watch = await stage.next();
  expect(watch.options.isFinal?.(refusal(status))).toBe(false);
  stage.end();
  watch.end();
});

test('a kind that goes takes along what was seen of it, and one that comes is watched', async () => {
  let isServed = false;
  const stage = aStage({ isServed: () => isServed });
  await stage.followed.firstLook;
  expect(stage.followed.latest()).toBeUndefined();
  isServed = true;
  const watch = await stage.next();
  watch.synced();
  expect(stage.followed.latest()?.size).toBe(0);
  const gone = Promise.withResolvers<void>();
  isServed = false;
  watch.end();
  const look = setInterval(() => stage.followed.latest() ?? gone.resolve(), 1);
  await gone.promise;
  clearInterval(look);
  stage.end();
});
