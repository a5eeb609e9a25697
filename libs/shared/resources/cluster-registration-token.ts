import { z } from 'zod';
import { conditions } from './condition.ts';
import { ageColumn, conditionColumn, defineKind, nameIsDnsLabel, observedStays } from './object.ts';
import type { ObjectOf } from './object.ts';
import { observed } from './observed-order.ts';
import { dnsLabel, givenLabels, publicNKey, text, timestamp } from './text.ts';

const spec = z
  .object({
    publicKey: publicNKey()
      .optional()
      .describe(
        'Public key of a token that you made yourself (rollcall token create); the token never reaches the hub.',
      ),
    publish: z
      .boolean()
      .optional()
      .describe('Let the hub make the token and put it into a Secret of the same name.'),
    ttl: text(32)
      .regex(/^(0|([0-9]+[smhd])+)$/)
      .default('24h')
      .describe(
        'How long it may be used, for example 30m, 24h, 1h30m. 0: for ever, only if the hub allows it.',
      ),
    uses: z
      .union([z.int().min(1), z.literal('unlimited')])
      .default(1)
      .meta({
        description: 'How many clusters may ask with it: a number, or the word unlimited.',
        'x-kubernetes-int-or-string': true,
        'x-kubernetes-validations': [
          {
            rule: "type(self) == int ? (int(self) >= 1 && int(self) <= 1000000) : string(self) == 'unlimited'",
            message: 'must be a number from 1 to 1000000, or unlimited',
          },
        ],
      }),
    clusterName: text(63)
      .regex(/^[a-z0-9*?]([-a-z0-9*?]*[a-z0-9*?])?$/)
      .optional()
      .describe('Name, or pattern with * and ?, that the cluster must have.'),
    clientId: text(253).optional().describe('The only client id that may use it.'),
    labels: givenLabels().optional().describe('Labels that a cluster gets which comes in with it.'),
    allowLabels: z
      .array(text(316))
      .max(32)
      .optional()
      .describe(
        'Patterns of label keys that the agent may set itself, once, at registration. None by default.',
      ),
    clusterSet: dnsLabel()
      .optional()
      .describe('Set that the cluster joins. Needs verb create on managedclustersets/join for that set.'),
    description: text(256).optional().describe('For people: what it is for.'),
  })
  .meta({
    'x-kubernetes-validations': [
      {
        rule: 'has(self.publicKey) != (has(self.publish) && self.publish)',
        message: 'exactly one of publicKey and publish: true is needed',
      },
      {
        rule: 'has(self.publicKey) == has(oldSelf.publicKey) && (!has(self.publicKey) || self.publicKey == oldSelf.publicKey)',
        message: 'publicKey cannot be changed; make a new token',
        reason: 'FieldValueInvalid',
      },
    ],
  });

const status = z.object({
  conditions: conditions().optional(),
  expires: timestamp().optional().describe('Hub time of its end (RFC 3339); `never` where it has none.'),
  used: z.int().min(0).optional().describe('How many clusters asked with it.'),
  lastUsedBy: text(63)
    .optional()
    .describe('Id of the cluster that used it last; written at most once in 10 s.'),
  observed: observed().optional(),
});

/** What allows a cluster to ask. Written by: people or the CLI; status by the projector. */
export const clusterRegistrationToken = defineKind({
  kind: 'ClusterRegistrationToken',
  plural: 'clusterregistrationtokens',
  singular: 'clusterregistrationtoken',
  shortNames: ['clsrt', 'rct'],
  scope: 'Namespaced',
  description:
    'Allows clusters to ask to join. It holds the public half only; whether they may join is for policies and people.',
  columns: [
    { name: 'Uses', type: 'string', jsonPath: '.spec.uses' },
    { name: 'Used', type: 'integer', jsonPath: '.status.used' },
    { name: 'Expires', type: 'string', jsonPath: '.status.expires' },
    conditionColumn('Ready', 'Ready'),
    ageColumn,
    { name: 'Reason', type: 'string', jsonPath: '.status.conditions[?(@.type=="Ready")].reason', wide: true },
    { name: 'Description', type: 'string', jsonPath: '.spec.description', wide: true },
  ],
  rules: [nameIsDnsLabel, observedStays],
  spec,
  status,
});
export type ClusterRegistrationToken = ObjectOf<typeof clusterRegistrationToken>;
