import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { KubeApiError } from '@rollcall/shared/kubernetes/kube-api-error';
import type { KubeObject, Resource, StoredObject } from '@rollcall/shared/kubernetes';
import { spreadMs } from '../hub/back-off.ts';
import type { MemberApi } from './member-api.ts';

/** What is remembered of the objects of a resource, by name. */
export interface Followed<Value> {
  /** Undefined where it cannot be read, or there is no such resource. */
  latest(): ReadonlyMap<string, Value> | undefined;
  /** Resolves when everything was read once, or it shows that it cannot be for now. */
  readonly firstLook: Promise<void>;
}

export interface FollowOptions<Value> {
  /** Asked before each attempt; undefined: there is none for now. Rejects where nobody answers. */
  resource(): Promise<Resource | undefined>;
  readonly keep: (object: StoredObject) => Value;
  readonly pageSize: number;
  /** How long what is not there, or closed to us, is left alone. */
  readonly lookAgainMs: number;
  /** Something was added, changed or removed, or cannot be read any more. */
  readonly onChange: () => void;
  readonly signal: AbortSignal;
}

type Kept<Value> = KubeObject & { readonly kept: Value };

/** Closed to us, or not served: the same again in a second. */
function isNotForUs(error: unknown): boolean {
  return error instanceof KubeApiError && [401, 403, 404, 405].includes(error.status);
}

/**
 * Follows a resource of the member by its watch, and remembers of each object only what `keep` makes of it. What is not there or closed
 * to the agent is looked for again at leisure: kinds come and go with what people install, rights with what they grant.
 */
export function followResource<Value>(
  member: Pick<MemberApi, 'watch'>,
  options: FollowOptions<Value>,
): Followed<Value> {
  const { keep, pageSize, lookAgainMs, onChange, signal } = options;
  const looked = Promise.withResolvers<void>();
  let latest: Map<string, Value> | undefined;

  /** @returns whether it could be read */
  async function watch(resource: Resource): Promise<boolean> {
    const seen = new Map<string, Value>();
    await member.watch<Kept<Value>>(resource, {
      pageSize,
      signal,
      isFinal: isNotForUs,
      keep: (object) => ({
        apiVersion: object.apiVersion,
        kind: object.kind,
        metadata: {
          name: object.metadata.name,
          uid: object.metadata.uid,
          resourceVersion: object.metadata.resourceVersion,
        },
        kept: keep(object),
      }),
      onEvent({ kind, object: { metadata, kept } }) {
        const isNews = kind === 'deleted' || !isDeepStrictEqual(seen.get(metadata.name), kept);
        if (kind === 'deleted') seen.delete(metadata.name);
        else if (isNews) seen.set(metadata.name, kept);
        if (isNews && latest === seen) onChange();
      },
      onSynced() {
        if (latest === seen) return;
        latest = seen;
        looked.resolve();
        onChange();
      },
      onError: () => looked.resolve(),
    });
    return latest === seen;
  }

  function forget(): void {
    if (latest) {
      latest = undefined;
      onChange();
    }
  }

  async function follow(): Promise<void> {
    while (!signal.aborted) {
      try {
        const resource = await options.resource();
        // What was seen counts until it is asked for again: an API server that starts does not know all that it serves.
        if (!resource || !(await watch(resource))) forget();
      } catch {
        // Nobody answers, which says nothing about what is there.
      }
      looked.resolve();
      await delay(spreadMs(lookAgainMs, 0.2, Math.random()), undefined, { signal }).catch(() => undefined);
    }
  }

  void follow();
  return { latest: () => latest, firstLook: looked.promise };
}
