import {
  createResourceCache,
  type KubeClient,
  type KubeObject,
  objectKey,
  type Resource,
  type ResourceCache,
  resources,
  type StoredObject,
  type WatchEvent,
} from '@rollcall/shared/kubernetes';
import {
  type ApprovalPolicy,
  clusterManager,
  type ClusterProfile,
  type ClusterRegistrationRequest,
  type ClusterRegistrationToken,
  type ManagedCluster,
  type ManagedClusterSet,
  type ManagedClusterSetBinding,
} from '@rollcall/shared/resources';

/** An own write counts until the watch has brought it; should the watch never, the cache is believed again after this time. */
const ownWriteLastsMs = 5000;

/** Longer than any write is waited for. */
const goneIsRememberedMs = 60_000;

/** The objects of one kind as the API server has them: what the watch brought, and what we wrote since. */
export interface KindView<T extends KubeObject> {
  readonly resource: Resource;
  get(key: string): StoredObject<T> | undefined;
  list(): StoredObject<T>[];
  /** Reads one object from the API server, and takes it over. */
  read(name: string, namespace?: string): Promise<StoredObject<T> | undefined>;
  /**
   * Until all objects have been listed, which takes a minute of a hundred thousand: reads this one, so that who wants to show it
   * does not wait for the others.
   */
  lookUp(name: string): Promise<void>;
  /** Takes over what a write or a read returned. */
  took(object: StoredObject<T>): void;
  /** A write has not found it: what we wrote before does not count any more. */
  missed(object: StoredObject<T>): void;
  /** Called for changes that somebody else made. */
  onForeignChange(listener: (event: WatchEvent<T>) => void): void;
  readonly cache: ResourceCache<T>;
}

/** Resource versions of one resource are whole numbers that grow (Kubernetes declares so since 1.35, and etcd always did). */
function isAtLeast(version: string, other: string): boolean {
  return version.length === other.length ? version >= other : version.length > other.length;
}

/** What the cache has, and on top of it, for a while, what we wrote ourselves. */
export function createKindView<T extends KubeObject>(
  cache: ResourceCache<T>,
  resource: Resource,
  client: Pick<KubeClient, 'get'>,
): KindView<T> {
  let isListed = false;
  const own = new Map<string, { object: StoredObject<T>; atMs: number }>();
  /** When each uid was deleted, oldest first. */
  const gone = new Map<string, number>();
  const listeners = new Set<(event: WatchEvent<T>) => void>();

  function noteGone(uid: string): void {
    const nowMs = performance.now();
    gone.set(uid, nowMs);
    for (const [old, atMs] of gone) {
      if (nowMs - atMs < goneIsRememberedMs) break;
      gone.delete(old);
    }
  }

  /** Unless it was made anew meanwhile. */
  function forgetOwn(key: string, uid: string): void {
    if (own.get(key)?.object.metadata.uid === uid) own.delete(key);
  }

  cache.onChange((event) => {
    const key = objectKey(event.object.metadata);
    const mine = own.get(key)?.object.metadata;
    const { resourceVersion, uid } = event.object.metadata;
    const isEcho = event.kind !== 'deleted' && mine?.resourceVersion === resourceVersion;
    if (mine !== undefined && isAtLeast(resourceVersion, mine.resourceVersion)) own.delete(key);
    if (event.kind === 'deleted') {
      forgetOwn(key, uid);
      noteGone(uid);
    }
    if (!isEcho) for (const listener of listeners) listener(event);
  });
  // What we made and somebody removed before the watch had brought it is missed by nobody else: the cache never had it.
  cache.onListed((listVersion) => {
    isListed = true;
    for (const [key, { object }] of own) {
      const { uid, resourceVersion } = object.metadata;
      if (cache.get(key) !== undefined || !isAtLeast(listVersion, resourceVersion)) continue;
      own.delete(key);
      noteGone(uid);
      for (const listener of listeners) listener({ kind: 'deleted', object, seenBy: 'relist' });
    }
  });
  function took(object: StoredObject<T>): void {
    const key = objectKey(object.metadata);
    const { deletionTimestamp, finalizers = [], uid } = object.metadata;
    const tookLastFinalizer = deletionTimestamp !== undefined && finalizers.length === 0;
    // The watch may have said that it is gone before the answer to an earlier write came: that answer brings nothing back.
    if (tookLastFinalizer || gone.has(uid)) return forgetOwn(key, uid);
    const seen = cache.get(key)?.metadata;
    const isSeen = seen?.uid === uid && isAtLeast(seen.resourceVersion, object.metadata.resourceVersion);
    if (!isSeen) own.set(key, { object, atMs: performance.now() });
  }

  async function read(name: string, namespace?: string): Promise<StoredObject<T> | undefined> {
    const object = await client.get<T>(resource, { name, namespace });
    if (object) took(object);
    return object;
  }

  return {
    resource,
    cache,
    took,
    read,
    get(key) {
      const mine = own.get(key);
      return mine && performance.now() - mine.atMs < ownWriteLastsMs ? mine.object : cache.get(key);
    },
    list: () => cache.list(),
    async lookUp(name) {
      if (!isListed && name !== '') await read(name);
    },
    missed: ({ metadata }) => forgetOwn(objectKey(metadata), metadata.uid),
    onForeignChange: (listener) => void listeners.add(listener),
  };
}

/** Our kinds as the API server has them, and the profiles that are ours. */
export interface KubeView {
  readonly clusters: KindView<ManagedCluster>;
  readonly requests: KindView<ClusterRegistrationRequest>;
  readonly tokens: KindView<ClusterRegistrationToken>;
  readonly policies: KindView<ApprovalPolicy>;
  readonly sets: KindView<ManagedClusterSet>;
  readonly bindings: KindView<ManagedClusterSetBinding>;
  /** Those with our label only: the others are nobody's business here. */
  readonly profiles: KindView<ClusterProfile>;
  /** Resolves when tokens, policies and sets were listed once, which are few; rejects when the signal ends it before. */
  readonly whenDeclaredSynced: Promise<unknown>;
  /** Resolves when each kind of the events was listed once; rejects when the signal ends it before. */
  readonly whenSynced: Promise<unknown>;
  /** And when bindings and profiles were: the kind of profiles is others', and may be missing. */
  readonly whenInventorySynced: Promise<unknown>;
  /** Resolves once the signal was given and every watch is closed. */
  readonly whenEnded: Promise<unknown>;
}

/** @param options.onSynced - after every complete list: the API server answers (again) */
export function watchOurKinds(
  client: KubeClient,
  options: {
    signal: AbortSignal;
    onSynced: () => void;
    onError: (resource: Resource, error: unknown) => void;
  },
): KubeView {
  const view = <T extends KubeObject>(resource: Resource, selection: { labelSelector?: string } = {}) =>
    createKindView<T>(
      createResourceCache<T>(client, resource, {
        ...selection,
        signal: options.signal,
        onSynced: options.onSynced,
        onError: (error) => options.onError(resource, error),
      }),
      resource,
      client,
    );
  const kinds = {
    clusters: view<ManagedCluster>(resources.managedClusters),
    requests: view<ClusterRegistrationRequest>(resources.clusterRegistrationRequests),
    tokens: view<ClusterRegistrationToken>(resources.clusterRegistrationTokens),
    policies: view<ApprovalPolicy>(resources.approvalPolicies),
    sets: view<ManagedClusterSet>(resources.managedClusterSets),
  };
  const ourProfiles = `${clusterManager.label}=${clusterManager.name}`;
  const inventory = {
    bindings: view<ManagedClusterSetBinding>(resources.managedClusterSetBindings),
    profiles: view<ClusterProfile>(resources.clusterProfiles, { labelSelector: ourProfiles }),
  };
  const caches = Object.values(kinds).map(({ cache }) => cache);
  const inventoryCaches = Object.values(inventory).map(({ cache }) => cache);
  const { tokens, policies, sets } = kinds;
  const whenDeclaredSynced = Promise.all([tokens, policies, sets].map(({ cache }) => cache.whenSynced));
  const whenSynced = Promise.all(caches.map((cache) => cache.whenSynced));
  const whenInventorySynced = Promise.all([...caches, ...inventoryCaches].map((cache) => cache.whenSynced));
  // Who ends while it waits for the one does not wait for the other.
  for (const promise of [whenDeclaredSynced, whenSynced, whenInventorySynced]) promise.catch(() => undefined);
  return {
    ...kinds,
    ...inventory,
    whenDeclaredSynced,
    whenSynced,
    whenInventorySynced,
    whenEnded: Promise.all([...caches, ...inventoryCaches].map((cache) => cache.whenEnded)),
  };
}
