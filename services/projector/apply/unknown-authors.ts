import type { EventLog } from '@rollcall/shared/bus';
import {
  admissionAggregate,
  admissionOf,
  type AggregateRecord,
  authorUnknown,
  type AuthorUnknown,
  predefinedId,
  wordsOfUnknownAuthor,
} from '@rollcall/shared/events';
import { type KubeObject, objectKey, resources, type StoredObject } from '@rollcall/shared/kubernetes';
import { isShownUnheard } from '../desired/ignored-edits.ts';
import type { WorkQueue, Pass } from '../queue/work-queue.ts';
import type { KubeView, KindView } from './kube-view.ts';
import { clusterKey, predefinedKey, setKey } from './event-keys.ts';

/** Each pass over a cluster asks; in a burst one read serves many. The other replica that heard the event repairs what is late. */
const readForMs = 1000;

/** What people wrote that does not count, because nobody knows who did; for the status of the object that it stands in. */
export interface UnknownAuthors {
  /** Of a token, a policy or a set, by its version; of a request or a cluster, by the words in it. */
  of<T extends KubeObject>(kind: KindView<T>, object: StoredObject<T>): Promise<AuthorUnknown | undefined>;
  /** The list is another one: everything that is on it, or was and shows so, is looked at again. */
  pass(): Promise<Pass>;
}

const byWords: ReadonlySet<string> = new Set([
  resources.clusterRegistrationRequests.plural,
  resources.managedClusters.plural,
]);

export function createUnknownAuthors(tools: {
  readonly log: Pick<EventLog, 'read'>;
  readonly view: KubeView;
  readonly queue: () => Pick<WorkQueue, 'mark'>;
}): UnknownAuthors {
  const { log, view } = tools;
  let last: { readonly atMs: number; readonly record: Promise<AggregateRecord> } | undefined;
  function read(withinMs: number): Promise<AggregateRecord> {
    if (last && performance.now() - last.atMs < withinMs) return last.record;
    const record = log.read(admissionAggregate);
    last = { atMs: performance.now(), record };
    record.catch(() => {
      last = undefined;
    });
    return record;
  }

  return {
    async of({ resource: { plural } }, { metadata }) {
      const record = await read(readForMs);
      const { name, uid, generation = 1 } = metadata;
      if (byWords.has(plural)) return wordsOfUnknownAuthor(record, { plural, name });
      return authorUnknown(record, { plural, key: objectKey(metadata), uid, generation });
    },
    async pass() {
      const listed = new Set(admissionOf(await read(0))?.unproven.map(({ object }) => object));
      const { mark } = tools.queue();
      const concerns = <T extends KubeObject>({ resource }: KindView<T>, object: StoredObject<T>) =>
        listed.has(`${resource.plural}/${object.metadata.name}`) || isShownUnheard(object);
      for (const object of view.requests.list())
        if (concerns(view.requests, object)) mark(clusterKey(object.spec.clusterId), 'transition');
      for (const object of view.clusters.list()) {
        if (!concerns(view.clusters, object)) continue;
        mark(predefinedKey(object.metadata.name), 'fact');
        const id = predefinedId(object.spec);
        if (id !== undefined) mark(clusterKey(id), 'transition');
      }
      for (const object of view.sets.list())
        if (concerns(view.sets, object)) mark(setKey(object.metadata.name), 'count');
      return { isShown: true };
    },
  };
}
