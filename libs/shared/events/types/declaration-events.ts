import { z } from 'zod';
import { defineEvent } from '../define-event.ts';

/** A ClusterRegistrationToken as the hub knows it. */
const tokenDeclarationSchema = z.looseObject({
  /** Absent while the hub has not made the token yet (`publicationId`). */
  publicKey: z.string().optional(),
  /** Of a token that the hub makes: the aggregate on which it is asked for and published (ADR 7). */
  publicationId: z.string().optional(),
  namespace: z.string(),
  name: z.string(),
  uid: z.string(),
  declaredAtMs: z.int(),
  /** Absent only for tokens that never expire, which the hub must allow. */
  expiresAtMs: z.int().optional(),
  uses: z.union([z.int().min(1), z.literal('unlimited')]),
  /** A name, or a pattern with `*`; absent: any name. */
  clusterName: z.string().optional(),
  clientId: z.string().optional(),
  labels: z.record(z.string(), z.string()).default({}),
  allowLabels: z.array(z.string()).default([]),
  clusterSet: z.string().optional(),
  /** For people; nothing follows from it. */
  description: z.string().optional(),
  /** Why the hub does not take what the person wrote. It is then withdrawn as well, so that nobody gets in with it. */
  problem: z.looseObject({ reason: z.string(), message: z.string() }).optional(),
  /**
   * The epoch of the hub since which it is void: it was made before a restore, and nobody has renewed it. Absent: it counts, in the
   * epoch of its event.
   */
  voidSinceEpoch: z.int().min(2).optional(),
  withdrawn: z.boolean().default(false),
});
export type TokenDeclaration = z.infer<typeof tokenDeclarationSchema>;

/** An ApprovalPolicy as the hub knows it; its rules as the person wrote them. */
export const policyDeclarationSchema = z.looseObject({
  name: z.string(),
  uid: z.string(),
  generation: z.int(),
  rules: z.array(
    z.looseObject({
      name: z.string(),
      when: z.string(),
      effect: z.enum(['Approve', 'Hold', 'Deny']),
      reason: z.string().optional(),
      labels: z.record(z.string(), z.string()).optional(),
      clusterSet: z.string().optional(),
      access: z.enum(['None', 'Namespace']).optional(),
    }),
  ),
  /** Why a newer generation is not in force: its first mistake. `rules` are then those of the last good one. */
  problem: z
    .looseObject({
      generation: z.int(),
      rule: z.string(),
      line: z.int().min(1),
      column: z.int().min(1),
      message: z.string(),
    })
    .optional(),
  /** What compiles and most likely is not meant: of the newest generation, or of the one in force while that has a problem. */
  warnings: z.array(z.looseObject({ rule: z.string(), reason: z.string(), message: z.string() })).optional(),
  withdrawn: z.boolean().default(false),
});
export type PolicyDeclaration = z.infer<typeof policyDeclarationSchema>;

/** A ManagedClusterSet as the hub knows it. */
const setDeclarationSchema = z.looseObject({
  name: z.string(),
  uid: z.string(),
  generation: z.int(),
  selectorType: z.enum(['ExclusiveLabel', 'LabelSelector']).default('ExclusiveLabel'),
  withdrawn: z.boolean().default(false),
});
export type SetDeclaration = z.infer<typeof setDeclarationSchema>;

export const tokenDeclared = defineEvent({
  kind: 'token',
  writer: 'approver',
  section: tokenDeclarationSchema,
  type: 'declared',
  description:
    'A person made a ClusterRegistrationToken. Repeated when its settings change; while they cannot be taken, `problem` says why and nobody gets in. Of a token that the hub makes, it comes twice: when it is asked for, and on the aggregate of its key once that was published.',
});
export const tokenWithdrawn = defineEvent({
  kind: 'token',
  writer: 'approver',
  section: tokenDeclarationSchema,
  type: 'withdrawn',
  description: 'A ClusterRegistrationToken was deleted; nobody gets in with it any more.',
});
export const policyDeclared = defineEvent({
  kind: 'policy',
  writer: 'approver',
  section: policyDeclarationSchema,
  type: 'declared',
  description:
    'A person wrote an ApprovalPolicy. Repeated for each generation; while one does not compile, the last good one stays in force and `problem` says why.',
});
export const policyWithdrawn = defineEvent({
  kind: 'policy',
  writer: 'approver',
  section: policyDeclarationSchema,
  type: 'withdrawn',
  description: 'An ApprovalPolicy was deleted.',
});
export const setDeclared = defineEvent({
  kind: 'set',
  writer: 'approver',
  section: setDeclarationSchema,
  type: 'declared',
  description: 'A person wrote a ManagedClusterSet. Repeated for each generation.',
});
export const setWithdrawn = defineEvent({
  kind: 'set',
  writer: 'approver',
  section: setDeclarationSchema,
  type: 'withdrawn',
  description: 'A ManagedClusterSet was deleted.',
});
