import { z } from 'zod';
import { ageColumn, defineKind, nameIsDnsLabel, observedStays } from './object.ts';
import type { ObjectOf } from './object.ts';
import { observed } from './observed-order.ts';
import { dnsLabel, keyFingerprint, labelMap, reason, text, timestamp } from './text.ts';

const decision = z.object({
  verdict: z
    .enum(['Approve', 'Deny'])
    .describe('What you want. Needs verb create on managedclusters/accept.'),
  keyFingerprint: keyFingerprint()
    .optional()
    .describe(
      'The key this is about; must equal spec.keyFingerprint. Filled in by API servers from 1.36 on. The decision is void once the key is another one.',
    ),
  reason: text(256).optional().describe('Why, in your own words; it is kept in the history.'),
  by: text(512)
    .optional()
    .describe('You. Filled in by API servers from 1.36 on; below, it must be your own user name.'),
  at: timestamp()
    .optional()
    .describe(
      'Nobody may write this: the hub time of the event `approved` or `denied` is the time of the decision.',
    ),
});

const spec = z.object({
  clusterId: dnsLabel().describe(
    'Stable identity of the member: the UID of its kube-system namespace, or a hash of its client id.',
  ),
  clientId: text(253).optional().describe('The id that the agent was given, where it was not the UID.'),
  clusterName: dnsLabel().describe('Name under which the cluster will be known on the hub.'),
  clusterType: z.enum(['Standard', 'Edge']).default('Standard').describe('Edge: expected to be away often.'),
  mode: z
    .enum(['Pull', 'Push'])
    .default('Pull')
    .describe('Pull: an agent in the member. Push: an agent on the hub.'),
  keyFingerprint: keyFingerprint().describe('The key that asks; compare it with what the agent prints.'),
  knownKeyFingerprint: keyFingerprint()
    .optional()
    .describe(
      'The key that the cluster is known under, while another one asks: compare both with what the agents print. Approving needs replacekey then.',
    ),
  token: text(253).optional().describe('The token it asked with, as namespace/name.'),
  labels: labelMap().optional().describe('Labels that the agent asks for. A claim: nobody verified them.'),
  factsDigest: text(100).optional().describe('Digest of the facts that came with the request.'),
  decision: decision
    .optional()
    .describe('What a person decides about this request; nobody else may write it.'),
});

const status = z.object({
  result: z
    .enum(['Pending', 'Held', 'Approved', 'Denied', 'Failed', 'Expired'])
    .optional()
    .describe('Pending: being judged. Held: a person must decide. Expired is not written.'),
  reason: reason().optional().describe('One CamelCase word that says why.'),
  message: text(4096).optional().describe('Who must do what now.'),
  policy: text(253).optional().describe('The policy that decided.'),
  rule: text(63).optional().describe('The rule of that policy.'),
  by: text(512).optional().describe('The person who decided.'),
  dedicatedNamespace: text(63).optional().describe('Namespace of the cluster on the hub.'),
  managedClusterName: text(63).optional().describe('The ManagedCluster that came of it.'),
  errorMessage: text(4096).optional().describe('What went wrong, where result is Failed.'),
  observed: observed().optional(),
});

/** A cluster that asks to join. Written by: projector; `spec.decision` by people. Name: the cluster id. */
export const clusterRegistrationRequest = defineKind({
  kind: 'ClusterRegistrationRequest',
  plural: 'clusterregistrationrequests',
  singular: 'clusterregistrationrequest',
  shortNames: ['clsrr', 'rcr'],
  scope: 'Cluster',
  description:
    'A cluster that asks to join this hub, with the outcome. Set spec.decision to approve or deny it.',
  columns: [
    { name: 'Cluster', type: 'string', jsonPath: '.spec.clusterName' },
    { name: 'Status', type: 'string', jsonPath: '.status.result' },
    { name: 'Reason', type: 'string', jsonPath: '.status.reason' },
    ageColumn,
    { name: 'Cluster ID', type: 'string', jsonPath: '.spec.clusterId', wide: true },
    { name: 'Token', type: 'string', jsonPath: '.spec.token', wide: true },
    { name: 'Policy', type: 'string', jsonPath: '.status.policy', wide: true },
    { name: 'By', type: 'string', jsonPath: '.status.by', wide: true },
    { name: 'Key', type: 'string', jsonPath: '.spec.keyFingerprint', wide: true },
    { name: 'Known-Key', type: 'string', jsonPath: '.spec.knownKeyFingerprint', wide: true },
  ],
  selectableFields: ['.spec.clusterName', '.status.result'],
  rules: [
    nameIsDnsLabel,
    { rule: 'self.metadata.name == self.spec.clusterId', message: 'metadata.name must be spec.clusterId' },
    observedStays,
  ],
  spec,
  status,
});
export type ClusterRegistrationRequest = ObjectOf<typeof clusterRegistrationRequest>;
