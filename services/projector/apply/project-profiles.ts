import type { HubApi } from '@rollcall/shared/hub';
import { apiVersionOf, resources, type StoredObject } from '@rollcall/shared/kubernetes';
import { clusterManager, type ClusterProfile } from '@rollcall/shared/resources';
import { clusterProfileOf, type DesiredProfile } from '../desired/cluster-profile.ts';
import { desiredBinding } from '../desired/desired-binding.ts';
import { isInSet } from '../desired/desired-set.ts';
import { type JsonObject, mergePatchBetween, plain, statusPatch } from '../desired/difference.ts';
import type { Pass } from '../queue/work-queue.ts';
import { lookAgainMs, type ShownCluster } from './projection-context.ts';
import type { KubeView } from './kube-view.ts';
import type { ObjectWriter } from './write-object.ts';

type ShownProfile = StoredObject<ClusterProfile>;

/** The clusters of bound sets, as ClusterProfiles in the namespaces of the bindings. */
export interface ProfileProjection {
  /** The profiles of one cluster, in every namespace. */
  cluster(name: string): Promise<Pass>;
  /** @param key - `namespace/name` */
  binding(key: string): Promise<Pass>;
}

export interface ProfileTools {
  readonly view: KubeView;
  readonly writer: ObjectWriter;
  readonly hubApi: HubApi | undefined;
  readonly nowMs: () => number;
  /** Whether clusters that nobody has to see are hidden. */
  readonly isExceptionsOnly: boolean;
}

const done: Pass = { isShown: true };
const again: Pass = { isShown: false, againInMs: lookAgainMs };
/** Nobody tells when a profile of others goes. */
const takenAgainMs = 60_000;

/** That of another manager stays as it is, whatever it is called. */
const isOurs = ({ metadata, spec }: ShownProfile): boolean =>
  metadata.labels?.[clusterManager.label] === clusterManager.name &&
  spec.clusterManager.name === clusterManager.name;

function shapePatch({ metadata, spec }: ShownProfile, wanted: DesiredProfile): JsonObject {
  const labels = mergePatchBetween(metadata.labels ?? {}, wanted.labels);
  const { displayName } = wanted.spec;
  return {
    ...(Object.keys(labels).length > 0 ? { metadata: { labels } } : {}),
    ...(spec.displayName === displayName ? {} : { spec: { displayName } }),
  };
}

/** Where each cluster has profiles of ours. */
function indexPlaces({ profiles }: KubeView): ReadonlyMap<string, ReadonlySet<string>> {
  const placesOf = new Map<string, Set<string>>();
  profiles.cache.onChange(({ kind, object: { metadata } }) => {
    const places = placesOf.get(metadata.name) ?? new Set<string>();
    if (kind === 'deleted') places.delete(metadata.namespace ?? '');
    else places.add(metadata.namespace ?? '');
    if (places.size > 0) placesOf.set(metadata.name, places);
    else placesOf.delete(metadata.name);
  });
  return placesOf;
}

export function createProfileProjection(tools: ProfileTools): ProfileProjection {
  const { view, writer, hubApi, nowMs, isExceptionsOnly } = tools;
  const placesOf = indexPlaces(view);

  /** Namespaces to which a set with this cluster is bound. */
  function namespacesOf(cluster: ShownCluster | undefined): ReadonlySet<string> {
    if (!cluster || isExceptionsOnly) return new Set();
    const labels = cluster.metadata.labels ?? {};
    const bindings = view.bindings.list().filter(({ metadata, spec }) => {
      const set = view.sets.get(spec.clusterSet);
      const isBound = metadata.deletionTimestamp === undefined && set !== undefined;
      return isBound && isInSet(set.metadata.name, set.spec.selector, labels);
    });
    return new Set(bindings.map(({ metadata }) => metadata.namespace ?? ''));
  }

  async function show(at: { name: string; namespace: string }, cluster: ShownCluster | undefined) {
    const current = view.profiles.get(`${at.namespace}/${at.name}`);
    const wanted = cluster && clusterProfileOf(cluster, current, { hubApi, nowMs: nowMs() });
    if (!wanted) {
      if (current && isOurs(current)) await writer.remove(view.profiles, current, 'fact');
      return done;
    }
    const { apiVersion, kind } = {
      apiVersion: apiVersionOf(resources.clusterProfiles),
      kind: 'ClusterProfile',
    };
    const { labels, spec } = wanted;
    const made = { apiVersion, kind, metadata: { ...at, labels: { ...labels } }, spec };
    const there = current ?? (await writer.create(view.profiles, made, 'fact'));
    if (!there) return again;
    if (!isOurs(there)) return { isShown: true, againInMs: takenAgainMs };
    const patch = shapePatch(there, wanted);
    const isAsWanted = Object.keys(patch).length === 0;
    const target = isAsWanted ? there : await writer.patch(view.profiles, there, { patch, priority: 'fact' });
    if (!target) return again;
    const difference = statusPatch(target.status && plain(target.status), wanted.status);
    if (!difference) return done;
    const how = { patch: difference.patch, priority: 'fact' as const };
    return (await writer.patchStatus(view.profiles, target, how)) ? done : again;
  }

  return {
    async cluster(name) {
      const cluster = view.clusters.get(name);
      const bound = namespacesOf(cluster);
      const all = [...bound.union(placesOf.get(name) ?? new Set<string>())];
      // One namespace that refuses, as those do that are being emptied, is in nobody's way.
      const passes = await Promise.allSettled(
        all.map((namespace) => show({ name, namespace }, bound.has(namespace) ? cluster : undefined)),
      );
      const failed = passes.find((pass) => pass.status === 'rejected');
      if (failed) throw failed.reason;
      const ended = passes.flatMap((pass) => (pass.status === 'fulfilled' ? [pass.value] : []));
      const againInMs = Math.min(...ended.map((pass) => pass.againInMs ?? Infinity));
      return {
        isShown: ended.every(({ isShown }) => isShown),
        againInMs: againInMs === Infinity ? undefined : againInMs,
      };
    },

    async binding(key) {
      const binding = view.bindings.get(key);
      if (!binding || binding.metadata.deletionTimestamp !== undefined) return done;
      const set = view.sets.get(binding.spec.clusterSet);
      const difference = statusPatch(
        binding.status,
        desiredBinding(binding, { set, isExceptionsOnly }, nowMs()),
      );
      if (!difference) return done;
      const how = { patch: difference.patch, priority: 'fact' as const };
      return (await writer.patchStatus(view.bindings, binding, how)) ? done : again;
    },
  };
}
