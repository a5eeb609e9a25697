import type { Access } from '@rollcall/shared/events';
import {
  type KubeClient,
  type KubeObject,
  type Resource,
  resources,
  type StoredObject,
  type WatchEvent,
  watchResource,
} from '@rollcall/shared/kubernetes';
import { annotations, labels } from '@rollcall/shared/resources';
import { bindsTheMember, memberName, type RoleBinding } from './member-access-objects.ts';

/** What the API server has of what the provisioner makes, by namespace. */
export interface PresentObjects {
  /** Whether it has said so of all three kinds. */
  isSynced(): boolean;
  hasNamespace(namespace: string): boolean;
  /** Whether it is being deleted. */
  isGoing(namespace: string): boolean;
  /** Whether the namespace is being deleted, which is told once it is gone, or is marked to be left alone, or was when it went. */
  isLeftAlone(namespace: string): boolean;
  /** Whether ServiceAccount and RoleBinding are those that the provisioner made, and bind what they should. */
  hasAccount(namespace: string, uids: Access['uids']): boolean;
  /** Resolves once the signal was given and every watch is closed. */
  readonly whenEnded: Promise<unknown>;
}

const remembered = new Set<string>([annotations.autoupdate, labels.clusterId]);

const onlyRemembered = (from: Readonly<Record<string, string>> = {}) =>
  Object.fromEntries(Object.entries(from).filter(([key]) => remembered.has(key)));

/** By a person who wants it to stay away. */
const isMarked = ({ metadata }: KubeObject) => metadata.annotations?.[annotations.autoupdate] === 'false';

/** Of a hundred thousand objects only what is asked for is kept. */
function short({ apiVersion, kind, metadata }: StoredObject): StoredObject {
  const { name, namespace, uid, resourceVersion, deletionTimestamp } = metadata;
  const kept = {
    name,
    uid,
    resourceVersion,
    ...(namespace === undefined ? {} : { namespace }),
    ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }),
  };
  return {
    apiVersion,
    kind,
    metadata: {
      ...kept,
      labels: onlyRemembered(metadata.labels),
      annotations: onlyRemembered(metadata.annotations),
    },
  } as StoredObject;
}

/**
 * Watches the namespaces with our label, and in all namespaces the ServiceAccounts and RoleBindings of the one name that members
 * have: RBAC lets us see no others.
 * @param options.onGone - something is gone, or is not as it was made; the id is its cluster's
 * @param options.onNamespaceGone - whoever it is for, its name is free
 */
export function watchPresentObjects(
  kube: KubeClient,
  options: {
    signal: AbortSignal;
    onGone(clusterId: string): void;
    onNamespaceGone(namespace: string): void;
    onSynced(): void;
    onError(resource: Resource, error: unknown): void;
  },
): PresentObjects {
  const { signal } = options;
  const namespaces = new Set<string>();
  const going = new Set<string>();
  const leftAlone = new Set<string>();
  const accounts = new Map<string, string>();
  const bindings = new Map<string, string>();
  const unsynced = new Set<Resource>();
  /** Whose namespace it is; labels in a namespace can be changed by who may write there. */
  const clusters = new Map<string, string>();

  function gone(event: WatchEvent<KubeObject>, namespace: string): void {
    const isSeen = event.kind === 'deleted' && event.seenBy === 'watch';
    const id = clusters.get(namespace);
    if (id !== undefined && !(isSeen && isMarked(event.object))) options.onGone(id);
  }

  function follow(
    resource: Resource,
    selection: { labelSelector: string } | { fieldSelector: string },
    {
      keep,
      take,
    }: { keep: (object: StoredObject) => StoredObject; take: (event: WatchEvent<KubeObject>) => void },
  ): Promise<void> {
    unsynced.add(resource);
    return watchResource<KubeObject>(kube, resource, {
      ...selection,
      signal,
      keep,
      onEvent: take,
      onSynced() {
        unsynced.delete(resource);
        // What is missing from a complete list may be lost.
        for (const name of leftAlone) if (!namespaces.has(name)) leftAlone.delete(name);
        if (unsynced.size === 0) options.onSynced();
      },
      onError: (error) => options.onError(resource, error),
    });
  }

  function takeNamespace(event: WatchEvent<KubeObject>): void {
    const { name, labels: found } = event.object.metadata;
    const id = found?.[labels.clusterId];
    if (id !== undefined) clusters.set(name, id);
    if (event.kind !== 'deleted') {
      namespaces.add(name);
      if (event.object.metadata.deletionTimestamp) going.add(name);
      else going.delete(name);
      if (isMarked(event.object) || event.object.metadata.deletionTimestamp) leftAlone.add(name);
      else leftAlone.delete(name);
      return;
    }
    namespaces.delete(name);
    going.delete(name);
    if (!isMarked(event.object)) leftAlone.delete(name);
    gone(event, name);
    clusters.delete(name);
    options.onNamespaceGone(name);
  }

  function takeAccount(event: WatchEvent<KubeObject>): void {
    const { namespace = '', uid } = event.object.metadata;
    if (event.kind !== 'deleted') accounts.set(namespace, uid ?? '');
    else if (accounts.delete(namespace)) gone(event, namespace);
  }

  function takeBinding(event: WatchEvent<KubeObject>): void {
    const { namespace = '', uid } = event.object.metadata;
    const isAsMade = event.kind !== 'deleted' && bindsTheMember(event.object as RoleBinding);
    if (isAsMade) bindings.set(namespace, uid ?? '');
    else if (bindings.delete(namespace)) gone(event, namespace);
  }

  const named = { fieldSelector: `metadata.name=${memberName}` };
  const withBinding = (object: StoredObject): StoredObject => {
    const { roleRef, subjects } = object as StoredObject<RoleBinding>;
    return { ...short(object), roleRef, subjects } as StoredObject;
  };
  const whenEnded = Promise.all([
    follow(
      resources.namespaces,
      { labelSelector: `${labels.createdBy}=rbac-provisioner` },
      { keep: short, take: takeNamespace },
    ),
    follow(resources.serviceAccounts, named, { keep: short, take: takeAccount }),
    follow(resources.roleBindings, named, { keep: withBinding, take: takeBinding }),
  ]);
  return {
    isSynced: () => unsynced.size === 0,
    hasNamespace: (namespace) => namespaces.has(namespace),
    isGoing: (namespace) => going.has(namespace),
    isLeftAlone: (namespace) => leftAlone.has(namespace),
    hasAccount: (namespace, uids) =>
      uids !== undefined &&
      accounts.get(namespace) === uids.serviceAccount &&
      bindings.get(namespace) === uids.roleBinding,
    whenEnded,
  };
}
