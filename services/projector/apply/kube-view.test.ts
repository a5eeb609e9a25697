import { beforeEach, expect, test } from 'vitest';
import {
  type KubeObject,
  type ResourceCache,
  resources,
  type StoredObject,
  type WatchEvent,
} from '@rollcall/shared/kubernetes';
import { createKindView, type KindView } from './kube-view.ts';

type Held = StoredObject<KubeObject>;

function anObject(resourceVersion: string, more: Partial<Held['metadata']> = {}): Held {
  return {
    apiVersion: 'v1',
    kind: 'Thing',
    metadata: { name: 'one', uid: 'uid-1', resourceVersion, finalizers: ['f'], ...more },
  };
}

let say: (event: WatchEvent<KubeObject>) => void;
let list: (resourceVersion: string) => void;
let view: KindView<KubeObject>;
/** As the API server has it. */
let stored: Held | undefined;

beforeEach(() => {
  const objects = new Map<string, Held>();
  const listeners: ((event: WatchEvent<KubeObject>) => void)[] = [];
  const cache: ResourceCache<KubeObject> = {
    get: (key) => objects.get(key),
    list: () => [...objects.values()],
    whenSynced: Promise.resolve(),
    whenEnded: Promise.resolve(),
    onChange: (listener) => {
      listeners.push(listener);
      return () => undefined;
    },
    onListed: (listener) => void (list = listener),
  };
  say = (event) => {
    if (event.kind === 'deleted') objects.delete('one');
    else objects.set('one', event.object);
    for (const listener of listeners) listener(event);
  };
  stored = undefined;
  const get = async () => stored as never;
  view = createKindView(cache, resources.managedClusters, { get });
});

test('what was written is seen before the watch brings it', () => {
  say({ kind: 'added', object: anObject('5') });
  view.took(anObject('6'));
  expect(view.get('one')?.metadata.resourceVersion).toBe('6');
});

test('the answer to the write that took the last finalizer, after the watch has said that it is gone, brings nothing back', () => {
  const deletionTimestamp = '2026-01-01T00:00:00Z';
  say({ kind: 'added', object: anObject('5', { deletionTimestamp }) });
  say({ kind: 'deleted', object: anObject('6', { deletionTimestamp }), seenBy: 'watch' });
  view.took(anObject('6', { deletionTimestamp, finalizers: [] }));
  expect(view.get('one')).toBeUndefined();
});

test('the answer to a write that was slower than the deletion brings nothing back; what was made anew counts', () => {
  say({ kind: 'added', object: anObject('5') });
  say({ kind: 'deleted', object: anObject('7'), seenBy: 'watch' });
  view.took(anObject('6'));
  expect(view.get('one')).toBeUndefined();
  view.took(anObject('8', { uid: 'uid-2' }));
  expect(view.get('one')?.metadata.uid).toBe('uid-2');
});

test('what a write did not find is not there any more, whatever was written before', () => {
  view.took(anObject('6'));
  view.missed(anObject('6', { uid: 'uid-of-another' }));
  expect(view.get('one')).toBeDefined();
  view.missed(anObject('6'));
  expect(view.get('one')).toBeUndefined();
});

test('what was removed before the watch had brought it is gone with the next list that is newer, and told', () => {
  const told: string[] = [];
  view.onForeignChange(({ kind, object }) => told.push(`${kind} ${object.metadata.uid}`));
  view.took(anObject('6'));
  list('5');
  expect(view.get('one')).toBeDefined();
  list('7');
  expect(view.get('one')).toBeUndefined();
  expect(told).toEqual(['deleted uid-1']);
});

test('until all are listed one is looked up by itself, and the cache is believed from then on', async () => {
  await view.lookUp('one');
  expect(view.get('one')).toBeUndefined();
  stored = anObject('6');
  await view.lookUp('one');
  expect(view.get('one')?.metadata.resourceVersion).toBe('6');
  say({ kind: 'added', object: anObject('7') });
  list('7');
  stored = anObject('8');
  await view.lookUp('one');
  expect(view.get('one')?.metadata.resourceVersion).toBe('7');
});
