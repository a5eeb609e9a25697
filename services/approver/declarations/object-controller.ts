import type { EventLog } from '@rollcall/shared/bus';
import { createReconciler, decideAndAppend } from '@rollcall/shared/decisions';
import { toRollcallError } from '@rollcall/shared/errors';
import {
  type AggregateId,
  type AggregateRecord,
  createEventId,
  type EventDraft,
} from '@rollcall/shared/events';
import {
  type KubeClient,
  type KubeObject,
  objectKey,
  type Resource,
  type StoredObject,
  watchResource,
} from '@rollcall/shared/kubernetes';
import type { Logger } from '@rollcall/shared/service';
import { deletedWord, objectName, versionWords } from '../admission/object-words.ts';
import type { AdmissionGate } from '../admission/while-admission-in-place.ts';

/** One kind of object that people write and the hub declares as events. */
export interface DeclaredKind<T extends KubeObject> {
  readonly kind: AggregateId['kind'];
  readonly resource: Resource;
  /** What `decide` has to know of other kinds: nothing is decided before. */
  readonly whenKnown?: Promise<void> | undefined;
  /** Which aggregate an object is about; undefined: none. */
  idOf(object: StoredObject<T>): string | undefined;
  /** A second aggregate of this kind that is decided about together with this one. */
  alongWith?(record: AggregateRecord): string | undefined;
  /**
   * @param objects - all that are about this aggregate; none: it is gone
   * @param along - the record of `alongWith`
   */
  decide(record: AggregateRecord, objects: readonly StoredObject<T>[], along?: AggregateRecord): EventDraft[];
  /** Whether an object says what is in force already, or gives nobody anything. */
  isInForce(record: AggregateRecord, object: StoredObject<T>): boolean;
  /**
   * Whether somebody may do more by what an object says than by what is in force, and the API server asks nobody for that right where
   * what stood there before said so too. Without an object: once it is gone. Absent: never.
   */
  loosens?(record: AggregateRecord, object: StoredObject<T> | undefined): boolean;
}

export interface DeclarationParts {
  readonly log: EventLog;
  readonly client: KubeClient;
  readonly logger: Logger;
  readonly gate: AdmissionGate;
  nowMs(): number;
  /** An object was made, changed or deleted. */
  onChange?(id: string): void;
}

export interface Declarations<T extends KubeObject> {
  /** Looks again at one aggregate: another service has written on it. */
  wake(id: string): void;
  /** Looks again at everything that such an object is about: what it names may have come or gone. */
  wakeWhere(isAbout: (object: StoredObject<T>) => boolean): void;
  /** Those that are about an aggregate now. */
  objectsOf(id: string): readonly StoredObject<T>[];
  /** Resolves after the first complete list; rejects at the end. */
  readonly whenSynced: Promise<void>;
  drain(): Promise<void>;
}

/** Wakes the look for what was declared once and has no object any more. */
const everything = '*';

/**
 * Keeps the declarations of one kind as the API server has them, but for what was written while the admission policies did not
 * hold: what was in force before stays so.
 *
 * An object that is missing from a complete list counts as withdrawn, also if nobody saw it being deleted. That is safe for
 * tokens, policies and sets: withdrawing only takes permission away, and the object that comes back is declared again. It is
 * never done for clusters, where absence would end a member (principle 6).
 */
export function startObjectController<T extends KubeObject>(
  parts: DeclarationParts,
  declared: DeclaredKind<T>,
): Declarations<T> {
  const { log, client, logger, gate } = parts;
  const { signal, unproven } = gate;
  const { kind, resource } = declared;
  const byId = new Map<string, Map<string, StoredObject<T>>>();
  const synced = Promise.withResolvers<void>();
  synced.promise.catch(() => undefined);

  async function reconcile(id: string): Promise<void> {
    // Before the first list is complete, "no object" means nothing.
    await synced.promise;
    await declared.whenKnown;
    if (id === everything) {
      const ids = new Set<string>();
      const onSkip = (_error: Error, event: AggregateId) => ids.add(event.id);
      for await (const event of log.scan({ filter: `${kind}.*.declared`, onSkip })) ids.add(event.id);
      for (const known of ids) if (!byId.has(known)) reconciler.wake(known);
      return;
    }
    // In this order, at each attempt: everything that the drafts follow from is read, then the policies are looked at. What comes
    // after that wakes this key again.
    const gather = async () => {
      // What has no object any more is withdrawn whatever was declared; what has one may be a newer version's business.
      const record = await log.read({ kind, id }, { unknownAsGarbage: !byId.has(id) });
      const other = declared.alongWith?.(record);
      const along = other === undefined ? undefined : await log.read({ kind, id: other });
      followUnproven(id, record);
      const drafts = isHeld(id) ? [] : declared.decide(record, objectsOf(id), along);
      // Who takes something away need not be asked for.
      const isFree = !byId.has(id) && declared.loosens?.(record, undefined) !== true;
      const why = drafts.length === 0 || isFree ? undefined : await gate.whyHeld();
      return { record, drafts: why === undefined ? drafts : [], why };
    };
    const { context, drafts } = await decideAndAppend(
      log,
      { gather, decide: (checked) => checked.drafts },
      { correlation: createEventId(parts.nowMs()) },
    );
    if (context.why !== undefined) {
      const about = { object: `${kind}/${id}`, code: 'ADMISSION_MISSING', reason: context.why };
      logger.warn(about, 'what a person wrote waits for the admission policies');
    }
    for (const { definition, reason, message } of drafts) {
      logger.info({ object: `${kind}/${id}`, state: definition.type, reason }, message);
    }
  }

  /** What came after a version that does not count was judged by the API server in comparison with that one. */
  function followUnproven(id: string, record: AggregateRecord): void {
    if (!declared.loosens) return;
    const name = objectName(resource.plural, id);
    const [object] = byId.get(id)?.values() ?? [];
    const words = object ? versionWords(object) : [deletedWord];
    if (declared.loosens(record, object)) unproven.replaced(name, words);
    else unproven.seen(name, words);
  }

  const isProven = (object: StoredObject<T>) => {
    const words = unproven.of(objectName(resource.plural, objectKey(object.metadata)));
    return !versionWords(object).some((word) => words.has(word));
  };
  const objectsOf = (id: string) => [...(byId.get(id)?.values() ?? [])].filter(isProven);
  /** Whether all that says something new about it does not count. */
  const isHeld = (id: string) =>
    byId.has(id) ? objectsOf(id).length === 0 : unproven.of(objectName(resource.plural, id)).has(deletedWord);
  const reconciler = createReconciler({ handle: reconcile, logger });
  const whenEnded = watchResource<T>(client, resource, {
    signal,
    onEvent: ({ kind: what, object }) => {
      const id = declared.idOf(object);
      if (id === undefined) return;
      const objects = byId.get(id) ?? new Map<string, StoredObject<T>>();
      const key = objectKey(object.metadata);
      if (!declared.loosens)
        unproven.seen(objectName(resource.plural, key), what === 'deleted' ? [] : versionWords(object));
      if (what === 'deleted') objects.delete(key);
      else objects.set(key, object);
      if (objects.size > 0) byId.set(id, objects);
      else byId.delete(id);
      reconciler.wake(id);
      parts.onChange?.(id);
    },
    onSynced: () => {
      synced.resolve();
      reconciler.wake(everything);
    },
    onError: (error) =>
      logger.warn({ err: toRollcallError(error), object: resource.plural }, 'watch was interrupted'),
  });
  return {
    wake: reconciler.wake,
    wakeWhere(isAbout) {
      for (const [id, objects] of byId) if ([...objects.values()].some(isAbout)) reconciler.wake(id);
    },
    objectsOf,
    whenSynced: synced.promise,
    async drain() {
      synced.reject(new Error('stopping'));
      await whenEnded;
      await reconciler.drain();
    },
  };
}
