import {
  isAlreadyExists,
  isConflict,
  isInvalid,
  isNotFound,
  type KubeClient,
  type KubeObject,
  type Resource,
  type StoredObject,
} from '@rollcall/shared/kubernetes';
import type { Metrics } from '@rollcall/shared/service';
import type { JsonObject } from '../desired/difference.ts';
import type { Priority } from '../queue/priority.ts';
import type { KindView } from './kube-view.ts';
import type { WriteBudget } from './write-budget.ts';

export type What = 'create' | 'shape' | 'status' | 'delete';

export interface Write {
  readonly patch: JsonObject;
  readonly priority: Priority;
  /** Of a status: only where the object is still as it was read. */
  readonly isOfVersion?: boolean;
}

/** Writes to the API server within the budget, counted, each answer taken into the view. */
export interface ObjectWriter {
  /**
   * @param priority - default: a transition
   * @returns the new object, or the one that somebody made meanwhile
   */
  create<T extends KubeObject>(
    view: KindView<T>,
    object: T,
    priority?: Priority,
  ): Promise<StoredObject<T> | undefined>;
  /** Metadata and spec. With a resourceVersion in the patch: a conflict throws, retryable, after a new look. */
  patch<T extends KubeObject>(
    view: KindView<T>,
    object: StoredObject<T>,
    how: Write,
  ): Promise<StoredObject<T> | undefined>;
  /** @returns whether it was taken; false: somebody newer wrote, or the object is gone. Look again. */
  patchStatus<T extends KubeObject>(view: KindView<T>, object: StoredObject<T>, how: Write): Promise<boolean>;
  /** @param priority - default: a transition */
  remove<T extends KubeObject>(
    view: KindView<T>,
    object: StoredObject<T>,
    priority?: Priority,
  ): Promise<void>;
  /** Of a kind that no view has; whatever goes wrong throws. */
  patchUnwatched(
    resource: Resource,
    at: { readonly name: string; readonly namespace: string },
    patch: JsonObject,
  ): Promise<void>;
}

/** The transition rule of `observed` speaks: the projection in the API server is newer than ours. */
function isOlderRefused(error: unknown): boolean {
  return (
    isInvalid(error) &&
    (error.details.causes?.some(({ field }) => field?.startsWith('status.observed')) ?? false)
  );
}

const place = ({ metadata }: KubeObject) => ({ namespace: metadata.namespace });

export function createObjectWriter(
  client: KubeClient,
  tools: { budget: WriteBudget; metrics: Metrics },
): ObjectWriter {
  async function counted<T>(
    { kind }: Resource,
    { what, priority = 'transition' }: { what: What; priority?: Priority | undefined },
    write: () => Promise<T>,
  ): Promise<T> {
    await tools.budget.take(priority);
    const startedMs = performance.now();
    try {
      const done = await write();
      tools.metrics.count('rollcall_kubernetes_writes_total', { kind, what });
      return done;
    } finally {
      const seconds = (performance.now() - startedMs) / 1000;
      tools.metrics.observe('rollcall_kubernetes_write_duration_seconds', seconds);
    }
  }

  return {
    async create(view, object, priority) {
      try {
        const made = await counted(view.resource, { what: 'create', priority }, () =>
          client.create(view.resource, object, place(object)),
        );
        view.took(made);
        return made;
      } catch (error) {
        if (!isAlreadyExists(error)) throw error;
        return view.read(object.metadata.name ?? '', object.metadata.namespace);
      }
    },
    async patch<T extends KubeObject>(
      view: KindView<T>,
      object: StoredObject<T>,
      { patch, priority }: Write,
    ) {
      try {
        const { name } = object.metadata;
        const write = () => client.mergePatch<T>(view.resource, name, patch, place(object));
        const done = await counted(view.resource, { what: 'shape', priority }, write);
        view.took(done);
        return done;
      } catch (error) {
        if (isNotFound(error)) {
          view.missed(object);
          return undefined;
        }
        if (isConflict(error)) await view.read(object.metadata.name, object.metadata.namespace);
        throw error;
      }
    },
    async patchStatus<T extends KubeObject>(
      view: KindView<T>,
      object: StoredObject<T>,
      { patch, priority, isOfVersion = false }: Write,
    ) {
      try {
        const { name, resourceVersion } = object.metadata;
        const how = { ...place(object), subresource: 'status' };
        const body = { ...(isOfVersion ? { metadata: { resourceVersion } } : {}), status: patch };
        const write = () => client.mergePatch<T>(view.resource, name, body, how);
        view.took(await counted(view.resource, { what: 'status', priority }, write));
        return true;
      } catch (error) {
        if (isNotFound(error)) {
          view.missed(object);
          return false;
        }
        const isOlder = isOlderRefused(error);
        if (!isOlder && !(isOfVersion && isConflict(error))) throw error;
        if (isOlder) tools.metrics.count('rollcall_projector_older_refused_total');
        await view.read(object.metadata.name, object.metadata.namespace);
        return false;
      }
    },
    async remove(view, object, priority = 'transition') {
      const { name, uid } = object.metadata;
      await counted(view.resource, { what: 'delete', priority }, () =>
        client.delete(view.resource, name, { ...place(object), preconditions: { uid } }),
      );
    },
    async patchUnwatched(resource, { name, namespace }, patch) {
      await counted(resource, { what: 'shape' }, () =>
        client.mergePatch(resource, name, patch, { namespace }),
      );
    },
  };
}
