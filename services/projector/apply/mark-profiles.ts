import { objectKey } from '@rollcall/shared/kubernetes';
import type { WorkQueue } from '../queue/work-queue.ts';
import type { KubeView } from './kube-view.ts';

const profileKey = (clusterName: string) => `profile/${clusterName}`;
const bindingKey = (key: string) => `binding/${key}`;

/**
 * Profiles follow from what Kubernetes shows, and from no event: whatever changes there is looked at again, and everything once.
 * Called when all of it was listed: what is not known would read as gone.
 */
export function markProfiles(view: KubeView, queue: Pick<WorkQueue, 'mark'>): void {
  const generationOf = new Map(
    view.sets.list().map(({ metadata }) => [metadata.name, metadata.generation] as const),
  );
  function markAll(): void {
    const clusters = view.clusters.list().map(({ metadata }) => metadata.name);
    const shown = view.profiles.list().map(({ metadata }) => metadata.name);
    for (const name of new Set([...clusters, ...shown])) queue.mark(profileKey(name), 'count');
  }
  const bindings = view.bindings.list();
  for (const { metadata } of bindings) queue.mark(bindingKey(objectKey(metadata)), 'count');
  if (bindings.length > 0 || view.profiles.list().length > 0) markAll();

  view.bindings.cache.onChange(({ kind, object: { metadata } }) => {
    queue.mark(bindingKey(objectKey(metadata)), 'fact');
    // Its set is its name: nothing else of it changes who is bound.
    if (kind !== 'changed' || metadata.deletionTimestamp !== undefined) markAll();
  });
  view.sets.cache.onChange(({ kind, object: { metadata } }) => {
    const { name, generation } = metadata;
    // A count of clusters changes often, and nothing here.
    if (kind === 'changed' && generationOf.get(name) === generation) return;
    generationOf.set(name, generation);
    const bound = view.bindings.list().filter(({ spec }) => spec.clusterSet === name);
    for (const binding of bound) queue.mark(bindingKey(objectKey(binding.metadata)), 'fact');
    if (bound.length > 0) markAll();
  });
  view.clusters.cache.onChange(({ object: { metadata } }) => {
    const isNeeded = view.bindings.list().length > 0 || view.profiles.list().length > 0;
    if (isNeeded) queue.mark(profileKey(metadata.name), 'fact');
  });
  // Own writes as well: who was put out of the set meanwhile is found then.
  view.profiles.cache.onChange(({ object: { metadata } }) => queue.mark(profileKey(metadata.name), 'fact'));
}
