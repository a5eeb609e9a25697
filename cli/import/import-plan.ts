import { isDeepStrictEqual } from 'node:util';
import { clusterIdOf, isReservedClusterName, isSafeId, predefinedId } from '@rollcall/shared/events';
import type { KubeObject } from '@rollcall/shared/kubernetes';
import {
  apiVersion,
  labels as ourLabels,
  managedCluster,
  type ManagedCluster,
  managedClusterSet,
  type ManagedClusterSet,
} from '@rollcall/shared/resources';
import type { ForeignCluster, OddObject } from './foreign-cluster.ts';
import type { ForeignSet, SetSelector } from './foreign-set.ts';

/** A ManagedCluster that waits for its agent. */
export type PredefinedObject = KubeObject<Partial<ManagedCluster['spec']>>;

/** A cluster with what is to be done about it. */
export type PlannedCluster = Pick<ForeignCluster, 'source' | 'name' | 'notes'> &
  (
    | { readonly action: 'make'; readonly object: PredefinedObject }
    | { readonly action: 'leave' }
    | { readonly action: 'refuse'; readonly why: string }
  );

/** A set with what is to be done about it. */
export type PlannedSet = Pick<ForeignSet, 'source' | 'name' | 'notes'> &
  (
    | { readonly action: 'make'; readonly object: ManagedClusterSet }
    | { readonly action: 'leave' }
    | { readonly action: 'refuse'; readonly why: string }
  );

export interface ImportPlan {
  /** Made before the clusters: those of the other system, and those that only labels of clusters name. */
  readonly sets: readonly PlannedSet[];
  readonly clusters: readonly PlannedCluster[];
}

/** What the hub has. */
export interface HubNow {
  readonly clusters: readonly Pick<ManagedCluster, 'metadata' | 'spec'>[];
  readonly sets: readonly Pick<ManagedClusterSet, 'metadata' | 'spec'>[];
}

const longestClientId = 253;

/** Names and ids that are given away, those of this plan included. */
class Taken {
  readonly #idOf = new Map<string, string | undefined>();
  readonly #nameOf = new Map<string, string>();

  take(name: string, id: string | undefined): void {
    this.#idOf.set(name, id);
    if (id !== undefined) this.#nameOf.set(id, name);
  }

  isThere(name: string, id: string): boolean {
    return this.#idOf.get(name) === id;
  }

  /** Why this cluster cannot have the name, in the words of the hub. */
  obstacle(name: string, id: string): string | undefined {
    const knownAs = this.#nameOf.get(id);
    if (knownAs !== undefined && knownAs !== name)
      return `the cluster id "${id}" is that of the cluster "${knownAs}"`;
    if (!this.#idOf.has(name)) return undefined;
    const holder = this.#idOf.get(name);
    return holder === undefined
      ? `there is a ManagedCluster "${name}" that has no id yet`
      : `the name "${name}" belongs to the cluster id "${holder}"`;
  }
}

function nameProblem({ name, id }: ForeignCluster): string | undefined {
  if (!isSafeId(name))
    return `"${name}" cannot be the name of a cluster here: a-z, 0-9 and -, at most 63 characters`;
  if (isReservedClusterName(name))
    return `"${name}" is reserved on the hub and cannot be the name of a cluster`;
  if ('clientId' in id && id.clientId.length > longestClientId)
    return `its client id has more than ${longestClientId} characters`;
  return undefined;
}

function planSet({ selector, ...set }: ForeignSet, sets: HubNow['sets']): PlannedSet {
  const { name, notes } = set;
  const there = sets.find(({ metadata }) => metadata.name === name);
  if (there) {
    const isSame = isDeepStrictEqual(there.spec.selector, selector);
    return { ...set, action: 'leave', notes: isSame ? [] : ['it has another selector here'] };
  }
  if (!isSafeId(name))
    return { ...set, notes: [], action: 'refuse', why: `"${name}" cannot be the name of a set here` };
  if (typeof selector === 'string') return { ...set, notes: [], action: 'refuse', why: selector };
  return { ...set, notes, action: 'make', object: setObject(name, selector) };
}

/** The set that it is put into, or why into none. */
function setFor(
  { clusterSet }: ForeignCluster,
  sets: HubNow['sets'],
  planned: readonly PlannedSet[],
): { set?: string; note?: string } {
  if (clusterSet === undefined) return {};
  if (planned.some(({ name, action }) => name === clusterSet && action === 'refuse'))
    return { note: `set "${clusterSet}" cannot be taken over, so it is put into none` };
  if (!isSafeId(clusterSet))
    return { note: `"${clusterSet}" cannot be the name of a set here: it is in none` };
  const known = sets.find(({ metadata }) => metadata.name === clusterSet);
  if (known?.spec.selector.type === 'LabelSelector')
    return { note: `set "${clusterSet}" selects clusters by their labels here, so it is put into none` };
  return { set: clusterSet };
}

function objectOf({ name, id, labels, settings }: ForeignCluster, set: string | undefined): PredefinedObject {
  const all = { ...labels, ...(set === undefined ? {} : { [ourLabels.clusterSet]: set }) };
  return {
    apiVersion,
    kind: managedCluster.kind,
    metadata: { name, ...(Object.keys(all).length === 0 ? {} : { labels: all }) },
    spec: { ...id, ...settings },
  };
}

/** What importing would do: nothing that is there is changed, and nothing is taken away from anybody. */
export function planImport(
  foreign: readonly (ForeignCluster | OddObject)[],
  hub: HubNow,
  foreignSets: readonly ForeignSet[] = [],
): ImportPlan {
  const planned = foreignSets.map((set) => planSet(set, hub.sets));
  const known = [...hub.sets, ...planned.flatMap((set) => (set.action === 'make' ? [set.object] : []))];
  const taken = new Taken();
  for (const { metadata, spec } of hub.clusters) taken.take(metadata.name, predefinedId(spec));
  const missing = new Set<string>();
  const clusters = foreign.map((cluster): PlannedCluster => {
    if ('why' in cluster) return { ...cluster, notes: [], action: 'refuse' };
    const { source, name, notes } = cluster;
    const id = 'clusterId' in cluster.id ? cluster.id.clusterId : clusterIdOf(cluster.id.clientId);
    if (taken.isThere(name, id)) return { source, name, notes: [], action: 'leave' };
    const why = nameProblem(cluster) ?? taken.obstacle(name, id);
    if (why !== undefined) return { source, name, notes: [], action: 'refuse', why };
    taken.take(name, id);
    const { set, note } = setFor(cluster, known, planned);
    if (set !== undefined && !known.some(({ metadata }) => metadata.name === set)) missing.add(set);
    const all = note === undefined ? notes : [...notes, note];
    return { source, name, notes: all, action: 'make', object: objectOf(cluster, set) };
  });
  const ofLabels = [...missing].map((name): PlannedSet => {
    const object = setObject(name, { type: 'ExclusiveLabel' });
    return { source: `set "${name}"`, name, notes: [], action: 'make', object };
  });
  return { sets: [...planned, ...ofLabels], clusters };
}

function setObject(name: string, selector: SetSelector): ManagedClusterSet {
  return { apiVersion, kind: managedClusterSet.kind, metadata: { name }, spec: { selector } };
}
