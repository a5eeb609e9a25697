import { isDeepStrictEqual } from 'node:util';
import { KubeApiError, type KubeObject, type Resource, type StoredObject } from '@rollcall/shared/kubernetes';
import { plain } from '../../services/projector/desired/difference.ts';
import { createRandom } from '../../cli/simulate/random.ts';
import type { Scheduler } from './scheduler.ts';

type Json = Record<string, unknown>;
export type Kept = StoredObject<KubeObject<Json, Json>>;
export interface Change {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  /** Of the object. */
  readonly key: string;
  readonly version: number;
  readonly line: string;
}

function refusal(status: number, reason: string, message: string, causes?: object[]): KubeApiError {
  return new KubeApiError(message, { status, reason, details: causes ? { causes } : {} });
}
export const busy = () => refusal(429, 'TooManyRequests', 'too many requests');
export const broken = () => refusal(500, 'InternalError', 'etcdserver: leader changed');
export const expired = () => refusal(410, 'Expired', 'too old resource version');

function frozen<Value>(value: Value): Value {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  for (const inner of Object.values(value)) frozen(inner);
  return Object.freeze(value);
}

/** @returns the target itself when the patch changes nothing of it */
function merged(target: unknown, patch: unknown): unknown {
  if (typeof patch !== 'object' || patch === null) return patch;
  if (Array.isArray(patch)) return isDeepStrictEqual(target, patch) ? target : patch;
  const isObject = typeof target === 'object' && target !== null && !Array.isArray(target);
  const before = isObject ? (target as Json) : {};
  const result: Json = { ...before };
  let isChanged = !isObject;
  for (const [key, value] of Object.entries(patch)) {
    if (value === undefined || (value === null && !(key in result))) continue;
    isChanged ||= value === null;
    if (value === null) delete result[key];
    else result[key] = merged(result[key], value);
    isChanged ||= result[key] !== before[key];
  }
  return isChanged ? result : target;
}

const specDefaults: Readonly<Record<string, Json>> = {
  managedclusters: { clusterType: 'Standard', mode: 'Pull', namespacePolicy: 'Delete' },
  clusterregistrationrequests: { clusterType: 'Standard', mode: 'Pull' },
  clusterregistrationtokens: { ttl: '24h', uses: 1 },
};

/** Its line is written when the first watch reads it: most kinds are watched by nobody. */
function changeOf(type: Change['type'], key: string, object: Kept, version: number): Change {
  let line: string | undefined;
  return {
    type,
    key,
    version,
    get line() {
      return (line ??= `${JSON.stringify({ type, object })}\n`);
    },
  };
}

interface Observed {
  readonly epoch: number;
  readonly sequence: number;
}
const isBefore = (a: Observed, b: Observed) =>
  a.epoch < b.epoch || (a.epoch === b.epoch && a.sequence < b.sequence);

/**
 * An API server as far as our services depend on it: resource versions, finalizers, generations, preconditions, the status
 * as a subresource, namespaces that take their time to go, and the rule that `observed` never goes back.
 */
export class KubeServer {
  readonly #scheduler: Scheduler;
  readonly #objects = new Map<string, Map<string, Kept>>();
  readonly #changes = new Map<string, Change[]>();
  readonly #listeners = new Map<string, Set<() => void>>();
  readonly #random = createRandom(1);
  #version = 100;
  #uids = 0;
  #changed: ((plural: string, object: Kept, type: Change['type']) => void) | undefined;

  constructor(scheduler: Scheduler) {
    this.#scheduler = scheduler;
  }

  get version(): number {
    return this.#version;
  }
  list(plural: string, namespace?: string): Kept[] {
    const all = [...(this.#objects.get(plural)?.values() ?? [])];
    return namespace === undefined ? all : all.filter(({ metadata }) => metadata.namespace === namespace);
  }
  get(plural: string, name: string, namespace?: string): Kept | undefined {
    return this.#objects.get(plural)?.get(`${namespace ?? ''}/${name}`);
  }
  changesAfter(plural: string, version: number): readonly Change[] {
    const changes = this.#changes.get(plural) ?? [];
    let from = changes.length;
    while (from > 0 && (changes[from - 1]?.version ?? 0) > version) from--;
    return changes.slice(from);
  }
  /** What a watch says that begins with all that is there. */
  *initialLines(plural: string): Iterable<string> {
    const changes = this.#changes.get(plural) ?? [];
    const newest = new Map(changes.map((change) => [change.key, change]));
    for (const { type, line } of newest.values()) if (type !== 'DELETED') yield line;
    const metadata = {
      resourceVersion: String(this.#version),
      annotations: { 'k8s.io/initial-events-end': 'true' },
    };
    yield `${JSON.stringify({ type: 'BOOKMARK', object: { metadata } })}\n`;
  }
  /** Called after each change, for the invariants. */
  onChange(listener: (plural: string, object: Kept, type: Change['type']) => void): void {
    this.#changed = listener;
  }
  /** Calls it once, at the next change of an object of the kind. */
  onNextChange(plural: string, listener: () => void): void {
    const listeners = this.#listeners.get(plural);
    if (listeners) listeners.add(listener);
    else this.#listeners.set(plural, new Set([listener]));
  }

  create({ plural, namespaced }: Resource, object: KubeObject, dryRun = false): Kept {
    const { name = '', namespace } = object.metadata;
    if (namespaced) this.#checkNamespace(namespace ?? '');
    if (this.get(plural, name, namespace)) {
      throw refusal(409, 'AlreadyExists', `${plural} "${name}" already exists`);
    }
    const written = plain(object) as unknown as Kept;
    const made: Kept = {
      ...written,
      metadata: {
        ...written.metadata,
        uid: `uid-${++this.#uids}`,
        resourceVersion: '',
        generation: 1,
        creationTimestamp: new Date(this.#scheduler.nowMs).toISOString(),
      },
      ...(written.spec ? { spec: { ...specDefaults[plural], ...written.spec } } : {}),
    };
    delete made.status;
    return dryRun ? made : this.#keep(plural, made, 'ADDED');
  }

  patch(
    { plural }: Resource,
    target: { name: string; namespace?: string | undefined; subresource?: string | undefined },
    patch: Json,
  ): Kept {
    const { name, namespace, subresource } = target;
    const before = this.get(plural, name, namespace);
    if (!before) throw refusal(404, 'NotFound', `${plural} "${name}" not found`);
    const asked = (patch['metadata'] as KubeObject['metadata'] | undefined)?.resourceVersion;
    if (asked !== undefined && asked !== before.metadata.resourceVersion) {
      throw refusal(409, 'Conflict', 'the object has been modified');
    }
    const { status, ...rest } = patch;
    const after = merged(before, subresource === 'status' ? { status } : rest) as Kept;
    this.#checkObserved(before, after);
    if (before.metadata.deletionTimestamp) {
      const had = before.metadata.finalizers ?? [];
      if (after.metadata.finalizers?.some((one) => !had.includes(one)))
        throw refusal(422, 'Invalid', 'no new finalizers can be added if the object is being deleted');
    }
    if (after === before) return before;
    const generation = (before.metadata.generation ?? 1) + (after.spec === before.spec ? 0 : 1);
    const kept = { ...after, metadata: { ...after.metadata, generation } };
    const isGone = kept.metadata.deletionTimestamp && (kept.metadata.finalizers ?? []).length === 0;
    return isGone ? this.#drop(plural, kept) : this.#keep(plural, kept, 'MODIFIED');
  }

  delete(
    { plural }: Resource,
    name: string,
    options: { namespace?: string | undefined; uid?: string | undefined } = {},
  ): boolean {
    const before = this.get(plural, name, options.namespace);
    if (!before) return false;
    if (options.uid !== undefined && options.uid !== before.metadata.uid) {
      throw refusal(409, 'Conflict', 'the UID in the precondition does not match');
    }
    const isKept = plural === 'namespaces' || (before.metadata.finalizers ?? []).length > 0;
    if (!isKept) {
      this.#drop(plural, before);
      return true;
    }
    if (before.metadata.deletionTimestamp) return true;
    const deletionTimestamp = new Date(this.#scheduler.nowMs).toISOString();
    this.#keep(plural, { ...before, metadata: { ...before.metadata, deletionTimestamp } }, 'MODIFIED');
    if (plural === 'namespaces')
      this.#scheduler.after(this.#random.int(5, 15_000), () => this.#emptyNamespace(name));
    return true;
  }

  /** Without finalizers and without asking: what a restored backup or a careless person does. */
  vanish(plural: string, name: string): void {
    const object = this.get(plural, name);
    if (object) this.#drop(plural, object);
  }

  #emptyNamespace(namespace: string): void {
    for (const plural of this.#objects.keys())
      for (const object of this.list(plural, namespace)) this.#drop(plural, object);
    this.vanish('namespaces', namespace);
  }

  #checkNamespace(namespace: string): void {
    // The join namespace has always been there.
    if (namespace === 'rollcall-join') return;
    const found = this.get('namespaces', namespace);
    if (!found) throw refusal(404, 'NotFound', `namespaces "${namespace}" not found`);
    if (found.metadata.deletionTimestamp) {
      const message = `namespace ${namespace} is being terminated`;
      throw refusal(403, 'Forbidden', message, [{ reason: 'NamespaceTerminating' }]);
    }
  }

  #checkObserved(before: Kept, after: Kept): void {
    for (const field of ['observed', 'observedFacts']) {
      const [old, now] = [before, after].map((object) => object.status?.[field] as Observed | undefined);
      if (old && (!now || isBefore(now, old)))
        throw refusal(422, 'Invalid', 'older than what is shown', [{ field: `status.${field}` }]);
    }
  }

  #keep(plural: string, object: Kept, type: Change['type']): Kept {
    const kept = frozen({
      ...object,
      metadata: { ...object.metadata, resourceVersion: String(++this.#version) },
    });
    const key = `${kept.metadata.namespace ?? ''}/${kept.metadata.name}`;
    let ofKind = this.#objects.get(plural);
    if (!ofKind) this.#objects.set(plural, (ofKind = new Map()));
    if (type === 'DELETED') ofKind.delete(key);
    else ofKind.set(key, kept);
    let changes = this.#changes.get(plural);
    if (!changes) this.#changes.set(plural, (changes = []));
    changes.push(changeOf(type, key, kept, this.#version));
    this.#changed?.(plural, kept, type);
    const listeners = this.#listeners.get(plural);
    this.#listeners.delete(plural);
    for (const listener of listeners ?? []) listener();
    return kept;
  }

  #drop(plural: string, object: Kept): Kept {
    return this.#keep(plural, object, 'DELETED');
  }
}
