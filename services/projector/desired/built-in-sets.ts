import { apiVersionOf, resources } from '@rollcall/shared/kubernetes';
import type { ManagedClusterSet } from '@rollcall/shared/resources';
import { setOfOthers } from './desired-set.ts';

const set = (name: string, selector: ManagedClusterSet['spec']['selector']): ManagedClusterSet => ({
  apiVersion: apiVersionOf(resources.managedClusterSets),
  kind: resources.managedClusterSets.kind,
  metadata: { name },
  spec: { selector },
});

/** What every hub has: made when missing, and then people's. Said in `deploy/sets` for those who install a hub. */
export const ownSets: ReadonlyMap<string, ManagedClusterSet> = new Map(
  [
    set(setOfOthers, { type: 'ExclusiveLabel' }),
    set('global', { type: 'LabelSelector', labelSelector: {} }),
  ].map((one) => [one.metadata.name ?? '', one]),
);
