import { type KubeClient, resources, watchResource } from '@rollcall/shared/kubernetes';
import type { ClusterRegistrationRequest, ManagedCluster } from '@rollcall/shared/resources';
import { nowMs } from '../report/clock.ts';

/** An object as one watch event showed it. */
export interface Sighting {
  readonly object: string;
  readonly atMs: number;
  readonly shows: string;
}

export interface ClusterWatch {
  readonly sightings: readonly Sighting[];
  /** When the watch first showed this managed cluster with Ready=True. */
  whenReady(name: string): Promise<number>;
  /** When it shows Ready with one of these for the first time from now on. */
  whenNext(name: string, statuses: readonly string[]): Promise<number>;
  /** How often a cluster was shown as not Ready right after it was Ready. */
  leftReady(): number;
  stop(): Promise<void>;
}

/** Watches the hub's API server as anybody would: what it shows, and when that arrived here. */
export async function watchClusters(client: KubeClient): Promise<ClusterWatch> {
  const ending = new AbortController();
  const { signal } = ending;
  const sightings: Sighting[] = [];
  const ready = new Map<string, PromiseWithResolvers<number>>();
  const readyOf = (name: string) => {
    const known = ready.get(name) ?? Promise.withResolvers<number>();
    ready.set(name, known);
    return known;
  };
  const isReady = new Set<string>();
  let left = 0;
  const awaited = new Map<string, Set<(status: string, atMs: number) => void>>();
  const synced = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const;

  const clusters = watchResource<ManagedCluster>(client, resources.managedClusters, {
    signal,
    onSynced: () => synced[0].resolve(),
    onEvent({ kind, object }) {
      const atMs = nowMs();
      const { name } = object.metadata;
      const conditions = object.status?.conditions ?? [];
      const shown = conditions.filter(({ status }) => status === 'True').map(({ type }) => type);
      sightings.push({
        object: `managedclusters/${name}`,
        atMs,
        shows: `${kind}: ${shown.join(', ') || 'no condition True'}`,
      });
      if (kind === 'deleted') return;
      if (shown.includes('Ready')) {
        isReady.add(name);
        readyOf(name).resolve(atMs);
      } else if (isReady.delete(name)) left++;
      const status = conditions.find(({ type }) => type === 'Ready')?.status ?? '';
      for (const tell of awaited.get(name) ?? []) tell(status, atMs);
    },
  });
  const requests = watchResource<ClusterRegistrationRequest>(client, resources.clusterRegistrationRequests, {
    signal,
    onSynced: () => synced[1].resolve(),
    onEvent({ kind, object }) {
      const shows = `${kind}: ${object.status?.result ?? 'no result'}`;
      sightings.push({
        object: `clusterregistrationrequests/${object.metadata.name}`,
        atMs: nowMs(),
        shows,
      });
    },
  });
  await Promise.all(synced.map(({ promise }) => promise));
  return {
    sightings,
    whenReady: (name) => readyOf(name).promise,
    whenNext(name, statuses) {
      const { promise, resolve } = Promise.withResolvers<number>();
      const listeners = awaited.get(name) ?? new Set();
      awaited.set(name, listeners);
      listeners.add((status, atMs) => {
        if (statuses.includes(status)) resolve(atMs);
      });
      return promise;
    },
    leftReady: () => left,
    async stop() {
      ending.abort();
      await Promise.all([clusters, requests]);
    },
  };
}
