import { z } from 'zod';
import { conditions } from './condition.ts';
import { ageColumn, conditionColumn, defineKind, nameIsDnsLabel } from './object.ts';
import type { ObjectOf } from './object.ts';
import { dnsLabel } from './text.ts';

const spec = z.object({
  clusterSet: dnsLabel().describe('Name of the set; the binding has the same name.'),
});

const status = z.object({ conditions: conditions().optional() });

/** Brings the clusters of a set into a namespace as ClusterProfiles. Written by: people; status by the projector. */
export const managedClusterSetBinding = defineKind({
  kind: 'ManagedClusterSetBinding',
  plural: 'managedclustersetbindings',
  singular: 'managedclustersetbinding',
  shortNames: ['mclsetbinding', 'rcsb'],
  scope: 'Namespaced',
  description:
    'Brings the clusters of a set into the namespace of the binding, as ClusterProfiles. Needs create on managedclustersets/bind for the set.',
  columns: [
    conditionColumn('Bound', 'Bound'),
    {
      name: 'Message',
      type: 'string',
      jsonPath: '.status.conditions[?(@.type=="Bound")].message',
      wide: true,
    },
    ageColumn,
  ],
  rules: [
    nameIsDnsLabel,
    { rule: 'self.metadata.name == self.spec.clusterSet', message: 'metadata.name must be spec.clusterSet' },
  ],
  spec,
  status,
});
export type ManagedClusterSetBinding = ObjectOf<typeof managedClusterSetBinding>;
