import { z } from 'zod';
import { conditions } from './condition.ts';
import { ageColumn, conditionColumn, defineKind, nameIsDnsLabel, observedStays } from './object.ts';
import type { ObjectOf } from './object.ts';
import { observed } from './observed-order.ts';
import { labelMap, text } from './text.ts';

const labelSelector = z.object({
  matchLabels: labelMap().optional().describe('All of these must be there.'),
  matchExpressions: z
    .array(
      z.object({
        key: text(316).min(1),
        operator: z.enum(['In', 'NotIn', 'Exists', 'DoesNotExist']),
        values: z.array(text(63)).max(64).optional(),
      }),
    )
    .max(32)
    .optional()
    .describe('And all of these must hold.'),
});

const selector = z
  .object({
    type: z
      .enum(['ExclusiveLabel', 'LabelSelector'])
      .default('ExclusiveLabel')
      .describe(
        'ExclusiveLabel: clusters with rollcall.dev/cluster-set=<name of the set>. LabelSelector: a view, gives no rights.',
      ),
    labelSelector: labelSelector
      .optional()
      .describe('For type LabelSelector; an empty one selects every cluster.'),
  })
  .meta({
    'x-kubernetes-validations': [
      {
        rule: "(self.type == 'LabelSelector') == has(self.labelSelector)",
        message: 'labelSelector is needed for type LabelSelector, and only for it',
      },
    ],
  });

const spec = z.object({
  selector: selector.prefault({ type: 'ExclusiveLabel' }).describe('Which clusters are in the set.'),
});

const status = z.object({
  conditions: conditions().optional(),
  clusters: z
    .int()
    .min(0)
    .optional()
    .describe('How many clusters are in the set; may lag a few seconds behind.'),
  observed: observed().optional(),
});

/** A group of clusters. Written by: people (`default` and `global` by us); status by the projector. */
export const managedClusterSet = defineKind({
  kind: 'ManagedClusterSet',
  plural: 'managedclustersets',
  singular: 'managedclusterset',
  shortNames: ['mclset', 'rcs'],
  scope: 'Cluster',
  description:
    'A group of clusters. Rights go with sets of type ExclusiveLabel: a cluster is in one of them at most.',
  columns: [
    { name: 'Clusters', type: 'integer', jsonPath: '.status.clusters' },
    conditionColumn('Empty', 'Empty'),
    ageColumn,
  ],
  rules: [nameIsDnsLabel, observedStays],
  spec,
  status,
});
export type ManagedClusterSet = ObjectOf<typeof managedClusterSet>;
