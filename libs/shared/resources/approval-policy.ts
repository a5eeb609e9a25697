import { z } from 'zod';
import { conditions } from './condition.ts';
import { ageColumn, conditionColumn, defineKind, nameIsDnsLabel, observedStays } from './object.ts';
import type { ObjectOf } from './object.ts';
import { observed } from './observed-order.ts';
import { dnsLabel, givenLabels, text } from './text.ts';

const rule = z.object({
  name: dnsLabel().describe('Stands in the event and in the status of what it decided.'),
  when: text(4096)
    .min(1)
    .describe(
      'CEL expression that gives true or false, over request, token, verified, claimed, fleet and time. An error or a timeout means hold.',
    ),
  effect: z
    .enum(['Approve', 'Hold', 'Deny'])
    .describe('Deny wins over Hold, and Hold over Approve, over all policies.'),
  reason: text(256).optional().describe('For people: shown in the status of the request.'),
  labels: givenLabels().optional().describe('Labels that the cluster gets.'),
  clusterSet: dnsLabel()
    .optional()
    .describe('Set that the cluster joins. Needs verb create on managedclustersets/join for that set.'),
  access: z
    .enum(['None', 'Namespace'])
    .optional()
    .describe('Access of the member to the hub API that this rule gives.'),
});

/** More than a person can overlook; the expressions of all of them are compiled together. */
export const maxPolicyRules = 64;

const spec = z.object({
  rules: z
    .array(rule)
    .max(maxPolicyRules)
    .meta({
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['name'],
      description:
        'All rules of all policies count, in no order. A request that none of them names is held for a person.',
    }),
});

const status = z.object({
  conditions: conditions().optional(),
  observedGeneration: z.int().min(0).optional().describe('metadata.generation that this is about.'),
  rules: z.int().min(0).optional().describe('How many rules are in force.'),
  message: text(4096).optional().describe('What is wrong with a rule, with line and column.'),
  observed: observed().optional(),
});

/** Who may join without a person. Written by: people; status by the projector. */
export const approvalPolicy = defineKind({
  kind: 'ApprovalPolicy',
  plural: 'approvalpolicies',
  singular: 'approvalpolicy',
  shortNames: ['apol', 'rcp'],
  scope: 'Cluster',
  description:
    'Says which clusters may join without a person. Writing a rule that approves needs accept on all clusters.',
  columns: [
    { name: 'Rules', type: 'integer', jsonPath: '.status.rules' },
    conditionColumn('Ready', 'Ready'),
    ageColumn,
  ],
  rules: [nameIsDnsLabel, observedStays],
  spec,
  status,
});
export type ApprovalPolicy = ObjectOf<typeof approvalPolicy>;
