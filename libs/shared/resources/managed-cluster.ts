import { z } from 'zod';
import { conditions } from './condition.ts';
import { ageColumn, conditionColumn, defineKind, nameIsDnsLabel, observedStays } from './object.ts';
import type { Column, ObjectOf } from './object.ts';
import { observed, observedFacts } from './observed-order.ts';
import { dnsLabel, keyFingerprint, reason, text, timestamp } from './text.ts';

const clientConfig = z.object({
  url: text(2048)
    .regex(/^https:\/\/[^\s/?#]+/)
    .describe('Address of the member API server.'),
  caBundle: text(65_536).optional().describe('Its CA certificates, PEM in base64.'),
});

const taint = z.object({
  key: text(316).min(1).describe('Syntax of a label key.'),
  value: text(63).optional(),
  effect: z.enum(['NoSchedule', 'PreferNoSchedule', 'NoExecute']).describe('As on a node.'),
});

const heartbeat = z
  .object({
    intervalSeconds: z.int().min(1).max(3600).optional().describe('How often the agent sends heartbeats.'),
    graceSeconds: z
      .int()
      .min(1)
      .max(86_400)
      .optional()
      .describe('Silence after which the cluster is Unreachable.'),
  })
  .meta({
    'x-kubernetes-validations': [
      {
        rule: '!has(self.intervalSeconds) || !has(self.graceSeconds) || self.graceSeconds >= self.intervalSeconds',
        message: 'graceSeconds must not be less than intervalSeconds',
      },
    ],
  });

const operation = z.object({
  id: text(64)
    .regex(/^[A-Za-z0-9][A-Za-z0-9._-]*$/)
    .describe('Any word that was not used for this cluster before; an operation is acted on once per id.'),
  verb: z
    .enum(['Revoke', 'Ban', 'Unban', 'ReplaceKey', 'RotateKey', 'ForceDelete'])
    .describe(
      'Revoke: this key is out, the cluster may ask again. Ban: it may not. RotateKey: the agent takes a new key by itself.',
    ),
  keyFingerprint: keyFingerprint()
    .optional()
    .describe('The key this is about; another key makes the operation void.'),
  reason: text(256).optional().describe('Why, in your own words; it is kept in the history.'),
  by: text(512)
    .optional()
    .describe('You. Filled in by API servers from 1.36 on; below, it must be your own user name.'),
  at: timestamp()
    .optional()
    .describe('Nobody may write this: the hub time of the event is the time of the operation.'),
});

const spec = z
  .object({
    clusterId: dnsLabel().optional().describe('Stable identity of the member; cannot be changed once set.'),
    clientId: text(253)
      .optional()
      .describe('The id that the agent was given, where it was not the UID of kube-system.'),
    clusterType: z
      .enum(['Standard', 'Edge'])
      .default('Standard')
      .describe('Edge: expected to be away often.'),
    mode: z
      .enum(['Pull', 'Push'])
      .default('Pull')
      .describe('Pull: an agent in the member. Push: an agent on the hub.'),
    hubAcceptsClient: z
      .boolean()
      .optional()
      .describe(
        'Set by people only, with verb create on managedclusters/accept. Unset: no change. false takes all access away. true gives back the key that it took, and lets in no other; while a request waits that the object shows, it approves it.',
      ),
    clientConfigs: z
      .array(clientConfig)
      .max(8)
      .optional()
      .meta({
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['url'],
        description: 'How to reach the member API server.',
      }),
    kubeconfigSecret: text(253)
      .regex(/^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/)
      .optional()
      .describe(
        'Secret in namespace rollcall-kubeconfigs by which the hub reaches the member: key value, a kubeconfig as Cluster API writes it. Set by people only, with verb create on managedclusters/accept and get on that Secret; cannot be changed once set.',
      ),
    unschedulable: z.boolean().optional().describe('Cordoned: other tools should place nothing new here.'),
    taints: z
      .array(taint)
      .max(32)
      .optional()
      .meta({
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['key', 'effect'],
        description: 'For the schedulers of other tools.',
      }),
    heartbeat: heartbeat
      .optional()
      .describe('Only where this cluster differs from the configuration of the hub.'),
    namespacePolicy: z
      .enum(['Delete', 'Keep', 'DeleteWhenEmpty'])
      .default('Delete')
      .describe('What happens to the namespace of the cluster on the hub when it leaves.'),
    access: z
      .enum(['None', 'Namespace'])
      .optional()
      .describe(
        'Access of the member to the hub API. Namespace: role rollcall-member in its own namespace. Set by people only, with verb create on managedclusters/accept. Unset: what the policy gave that let it in, else None.',
      ),
    memberAccess: z
      .enum(['Allowed', 'Denied'])
      .optional()
      .describe(
        'Denied: nobody gets into the member through the hub, whatever its owner allows; open streams end. Unset: as it was set last, else Allowed. Set by people only, with verb create on managedclusters/accept.',
      ),
    operation: operation
      .optional()
      .describe('What a person wants done with this cluster; nobody else may write it.'),
  })
  .meta({
    'x-kubernetes-validations': [
      {
        rule: '!has(oldSelf.clusterId) || (has(self.clusterId) && self.clusterId == oldSelf.clusterId)',
        message: 'clusterId cannot be changed once it is set',
        reason: 'FieldValueInvalid',
      },
      {
        rule: '!has(oldSelf.kubeconfigSecret) || (has(self.kubeconfigSecret) && self.kubeconfigSecret == oldSelf.kubeconfigSecret)',
        message:
          'kubeconfigSecret cannot be changed once it is set; put another kubeconfig into the same Secret',
        reason: 'FieldValueInvalid',
      },
    ],
  });

const quantities = () => z.record(z.string(), text(64)).meta({ maxProperties: 64 });

const status = z.object({
  namespace: text(63).optional().describe('Namespace of the cluster on the hub.'),
  conditions: conditions().optional(),
  liveness: text(32)
    .optional()
    .describe('What the heartbeat service says, for example ready, suspect, unreachable.'),
  lastSeen: timestamp()
    .optional()
    .describe('`live` while Ready, else the hub time of the last heartbeat (RFC 3339).'),
  kubernetesVersion: text(64).optional().describe('Reported by the agent.'),
  platform: text(128).optional().describe('Reported by the agent.'),
  apiServerURL: text(2048).optional().describe('Reported by the agent.'),
  healthz: z.boolean().optional().describe('Whether /healthz of the member API server is fine.'),
  livez: z.boolean().optional().describe('Whether /livez of the member API server is fine.'),
  readyz: z.boolean().optional().describe('Whether /readyz of the member API server is fine.'),
  nodes: z
    .object({
      total: z.int().min(0).optional(),
      ready: z.int().min(0).optional(),
      schedulable: z.int().min(0).optional(),
      sample: text(253).optional().describe('Name of one node, to recognise the cluster by.'),
    })
    .optional()
    .describe('Reported by the agent.'),
  capacity: quantities().optional().describe('Sum over all nodes.'),
  allocatable: quantities().optional().describe('Sum over all nodes that are not cordoned.'),
  podCIDRs: z
    .array(text(64))
    .max(32)
    .optional()
    .describe('What the ranges of its nodes make together, or what the agent was told.'),
  serviceCIDRs: z
    .array(text(64))
    .max(32)
    .optional()
    .describe('As Kubernetes 1.33 and newer shows it, or as the agent was told.'),
  clusterClaims: z
    .array(z.object({ name: text(253).min(1), value: text(1024) }))
    .max(256)
    .optional()
    .meta({
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['name'],
      description:
        'ClusterClaims and ClusterProperties of the member, as its agent says; nobody verified them. Condition ClaimsComplete says whether some are left out.',
    }),
  agentVersion: text(64).optional(),
  memberAccess: text(256)
    .optional()
    .describe(
      'As whom people of the hub get into the member (proxy.rollcall.dev), as its owner has said to its agent. Absent: nobody does.',
    ),
  keyFingerprint: keyFingerprint().optional().describe('The key that is let in now.'),
  decision: z
    .object({
      by: text(512).optional(),
      policy: text(253).optional(),
      rule: text(63).optional(),
      reason: reason().optional(),
      at: timestamp().optional(),
    })
    .optional()
    .describe('The last decision of the approver, and whose it was.'),
  observed: observed().optional(),
  observedFacts: observedFacts().optional(),
});

const wide = (name: string, jsonPath: string, type: Column['type'] = 'string'): Column => ({
  name,
  type,
  jsonPath,
  wide: true,
});

/** A cluster of the fleet. Written by: projector, or a person beforehand (predefined); operations by people. */
export const managedCluster = defineKind({
  kind: 'ManagedCluster',
  plural: 'managedclusters',
  singular: 'managedcluster',
  shortNames: ['mcls', 'rcm'],
  scope: 'Cluster',
  description: 'A cluster of the fleet: what people want of it (spec) and what the hub knows of it (status).',
  columns: [
    conditionColumn('Accepted', 'Accepted'),
    conditionColumn('Ready', 'Ready'),
    { name: 'Kubernetes', type: 'string', jsonPath: '.status.kubernetesVersion' },
    { name: 'Mode', type: 'string', jsonPath: '.spec.mode' },
    { name: 'Last-Seen', type: 'string', jsonPath: '.status.lastSeen' },
    ageColumn,
    wide('Cluster ID', '.spec.clusterId'),
    wide('Type', '.spec.clusterType'),
    wide('Readyz', '.status.readyz', 'boolean'),
    wide('Platform', '.status.platform'),
    wide('Nodes', '.status.nodes.total', 'integer'),
    wide('Sample-Node', '.status.nodes.sample'),
    wide('Set', '.metadata.labels.rollcall\\.dev/cluster-set'),
    wide('Reason', '.status.conditions[?(@.type=="Ready")].reason'),
  ],
  rules: [nameIsDnsLabel, observedStays],
  spec,
  status,
});
export type ManagedCluster = ObjectOf<typeof managedCluster>;
