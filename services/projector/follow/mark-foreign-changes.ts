import { predefinedId, publicationIdOf } from '@rollcall/shared/events';
import { labels } from '@rollcall/shared/resources';
import { tokenIdOf } from '@rollcall/shared/trust';
import { clusterKey, policyKey, predefinedKey, setKey, tokenKey } from '../apply/event-keys.ts';
import type { KubeView } from '../apply/kube-view.ts';
import { isUnboundObject } from '../apply/project-predefined.ts';
import { nextDepartureWithinMs } from '../queue/departures.ts';
import type { WorkQueue } from '../queue/work-queue.ts';

/** What people and other replicas change in the API server is compared with the record again; what vanished is made again. */
export function followForeignChanges(view: KubeView, queue: WorkQueue): void {
  const markSets = () => {
    for (const { metadata } of view.sets.list()) queue.mark(setKey(metadata.name), 'count');
  };
  // Counting listens to the cache: own writes change the count as well.
  view.clusters.cache.onChange(markSets);
  view.clusters.onForeignChange(({ object }) => {
    const clusterId = predefinedId(object.spec) ?? object.metadata.labels?.[labels.clusterId];
    const isDeparture = object.metadata.deletionTimestamp !== undefined;
    // The decision follows within milliseconds, unless they are many.
    const withinMs = isDeparture ? nextDepartureWithinMs : 0;
    if (clusterId !== undefined)
      queue.mark(clusterKey(clusterId), isDeparture ? 'departure' : 'transition', { withinMs });
    if (isUnboundObject(object)) queue.mark(predefinedKey(object.metadata.name));
  });
  view.requests.onForeignChange(({ object }) => queue.mark(clusterKey(object.spec.clusterId)));
  view.tokens.onForeignChange(({ object }) => {
    const { publicKey } = object.spec;
    const id = publicKey === undefined ? publicationIdOf(object.metadata.uid) : tokenIdOf(publicKey);
    queue.mark(tokenKey(id), 'fact');
  });
  view.policies.onForeignChange(({ object }) => queue.mark(policyKey(object.metadata.name), 'fact'));
  view.sets.onForeignChange(({ object }) => queue.mark(setKey(object.metadata.name), 'count'));
}
