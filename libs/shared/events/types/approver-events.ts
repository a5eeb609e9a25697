import { z } from 'zod';
import { causeSchema, defineEvent } from '../define-event.ts';
import { nameSchema, simulatedSchema } from './registrar-events.ts';

const taintSchema = z.looseObject({ key: z.string(), value: z.string().optional(), effect: z.string() });

/** The approver's section of a cluster: what was decided, about which request and key, and what the cluster was given. */
export const decisionSchema = z.looseObject({
  verdict: z.enum(['approved', 'held', 'denied', 'revoked', 'banned', 'leaving', 'predefined']),
  /** The request and the key that the verdict is about; absent only for a predefined cluster nobody has claimed. */
  requestId: z.string().optional(),
  key: z.string().optional(),
  /**
   * The key that is in, whatever the newest verdict is about: while another key's request is held, the owner keeps its own.
   * Whoever grants something compares with this.
   */
  approvedKey: z.string().optional(),
  /** The key before it, while a rotation is under way: its connection stands until the agent was heard with the new one. */
  retiringKey: z.string().optional(),
  clusterName: z.string(),
  namespace: z.string(),
  labels: z.record(z.string(), z.string()).default({}),
  clusterSet: z.string().optional(),
  access: z.enum(['None', 'Namespace']).default('None'),
  namespacePolicy: z.enum(['Delete', 'Keep', 'DeleteWhenEmpty']).default('Delete'),
  unschedulable: z.boolean().default(false),
  taints: z.array(taintSchema).default([]),
  heartbeat: z.looseObject({ intervalSeconds: z.int().min(1), graceSeconds: z.int().min(1) }),
  by: causeSchema,
  /** Made up by `rollcall simulate`: counts for no policy. Absent for all others. */
  simulated: simulatedSchema.optional(),
  reason: z.string(),
  message: z.string(),
  decidedAtMs: z.int(),
  /** Digest of the person's decision that was last acted on, so that it counts once. */
  actedOn: z.string().optional(),
  /** Ids of the operations (`spec.operation`) that were acted on, newest last, at most 64: each counts once. */
  operations: z.array(z.string()).optional(),
  /** A person wants the agent to take another key in the place of this one; nothing once another one is in. */
  rotationRequest: z.looseObject({ key: z.string(), atMs: z.int() }).optional(),
  /** A person wanted a leaving cluster to be ended without waiting for its agent. Only beside `leaving`. */
  forced: z.boolean().optional(),
  /** The ManagedCluster object whose deletion was acted on: it counts once. */
  leavingUid: z.string().optional(),
  /**
   * While a cluster leaves: hub time until which its agent is awaited, which removes itself from the member. Absent where the
   * agent was not there. `forced` ends it.
   */
  leaveUntilMs: z.int().optional(),
  /**
   * The cluster was made by a person before its agent came (`verdict` is `predefined` until a request is judged). Only a token
   * that names it may bind to it, and what the person wrote stays. Absent for all others, and for a next registration after leaving.
   */
  predefined: z
    .looseObject({
      /** As given; absent where the object names the cluster id itself. */
      clientId: z.string().optional(),
      clusterType: z.enum(['Standard', 'Edge']),
      mode: z.enum(['Pull', 'Push']),
      /**
       * The Secret in `rollcall-kubeconfigs` by which the hub reaches the member, and since when it is wanted: that tells this registration
       * of the cluster from an earlier one. Absent where the agent comes by itself.
       */
      kubeconfig: z.looseObject({ secret: z.string(), sinceMs: z.int() }).optional(),
    })
    .optional(),
  /**
   * Keys that were taken back, newest last, each with the hub time in ms. Those of a cluster that left stay out for good
   * (`left`): who comes back comes with a new key and a new token. One that its agent replaced (`rotated`), or that is out only
   * because of what its agent did (`byAgent`: it left, or flooded the hub before anybody let it in), was taken back by nobody
   * else: on a revocation list that is full these are the first to go.
   */
  revokedKeys: z
    .array(
      z.looseObject({
        key: z.string(),
        atMs: z.int(),
        left: z.boolean().optional(),
        rotated: z.boolean().optional(),
        byAgent: z.boolean().optional(),
      }),
    )
    .default([]),
});
export type Decision = z.infer<typeof decisionSchema>;

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

const cluster = { kind: 'cluster', writer: 'approver', section: decisionSchema } as const;

export const approved = defineEvent({
  ...cluster,
  type: 'approved',
  description:
    'The cluster may join. Followed by admitted and by provisioned or provisioning-failed. Once for each request.',
});
export const held = defineEvent({
  ...cluster,
  type: 'held',
  description:
    'A person must decide. Judged again when a policy, the token of the request or what its cluster says of itself changes; repeated only when the reason or the rule changes.',
});
export const denied = defineEvent({
  ...cluster,
  type: 'denied',
  description: 'The cluster may not join, or no longer. After an approval it is followed by revoked.',
});
export const revoked = defineEvent({
  ...cluster,
  type: 'revoked',
  description:
    'A key is out: its connections are cut and its credentials refused. Every deny after approval, revoke, ban, leaving and replaced key ends in it. Followed by cut.',
});
export const banned = defineEvent({
  ...cluster,
  type: 'banned',
  description:
    'The cluster may not ask any more, whatever its key. Where a key was in, it is followed by revoked. Until unbanned, nothing else is decided about it.',
});
export const unbanned = defineEvent({
  ...cluster,
  type: 'unbanned',
  description:
    'The cluster may ask again. A request that waited is held; keys that were taken back stay out until a person approves one.',
});
export const leaving = defineEvent({
  ...cluster,
  type: 'leaving',
  description:
    'The cluster leaves. Followed by revoked, deprovisioned and left. Repeated once where a person wants it to be ended without waiting (`forced`).',
});
export const changed = defineEvent({
  ...cluster,
  type: 'changed',
  description:
    'Labels, set or settings of the cluster changed, but for the mark of cordoned. Repeated whenever they do.',
});
export const cordoned = defineEvent({
  ...cluster,
  type: 'cordoned',
  description:
    'A person marked the cluster so that nothing new is placed there; other settings may have changed with it. Followed by uncordoned.',
});
export const uncordoned = defineEvent({
  ...cluster,
  type: 'uncordoned',
  description: 'A person took that mark away again; other settings may have changed with it.',
});
export const rotationRequested = defineEvent({
  ...cluster,
  type: 'rotation-requested',
  description:
    'A person wants the agent to take a new key. The registrar tells the agent, which hears it when it asks next at the latest. Followed by requested with `rotation`. Repeated whenever a person wants it again.',
});
export const predefined = defineEvent({
  ...cluster,
  type: 'predefined',
  description:
    'A person made a ManagedCluster before its agent came. Comes in one batch with `name.reserved`. Repeated when its labels, set or settings change before it is claimed. Followed by requested of a token that names it, or by leaving.',
});
export const nameReserved = defineEvent({
  kind: 'name',
  writer: 'approver',
  section: nameSchema,
  type: 'reserved',
  description:
    'A predefined cluster has this name before its agent comes; nobody else can take it. Followed by released.',
});
export const nameReleased = defineEvent({
  kind: 'name',
  writer: 'approver',
  section: nameSchema,
  type: 'released',
  description: 'A name is free again. A new taken may follow.',
});
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

/** The cluster that was let in, by which request. */
const countedSchema = z.looseObject({ clusterId: z.string(), requestId: z.string() });
export const counted = defineEvent({
  kind: 'hub',
  writer: 'approver',
  section: countedSchema,
  type: 'counted',
  description:
    'A policy let a cluster in while policies count the fleet. Of aggregate `fleet`, in one batch with approved: two approvals cannot be decided on the same counts. Once for each such approval.',
});

const bulkOperationSchema = z.looseObject({
  clusterId: z.string(),
  clusterName: z.string(),
  /** Digest of the operation, so that a confirmation is about this operation and no later one. */
  digest: z.string(),
  /** The event that would follow, such as `leaving`, and who asked for it. */
  type: z.string(),
  person: z.string(),
});
/** How many members people put out lately, and what waits because it is a bulk change. Of the one aggregate `bulk`. */
const bulkSchema = z.looseObject({
  /** How many were acted on within the last minute, by second of hub time. */
  recent: z.array(z.looseObject({ atMs: z.int(), count: z.int(), ofPeople: z.int().optional() })).default([]),
  /** What waits for a confirmation; `id` names exactly this list. */
  held: z
    .looseObject({ id: z.string(), limit: z.int(), operations: z.array(bulkOperationSchema) })
    .optional(),
  /** What a person confirmed and was not acted on yet; void some minutes after `atMs`. */
  confirmed: z.looseObject({ atMs: z.int(), operations: z.array(bulkOperationSchema) }).optional(),
});
export type BulkChanges = z.infer<typeof bulkSchema>;

const operations = { kind: 'hub', writer: 'approver', section: bulkSchema } as const;
export const bulkCounted = defineEvent({
  ...operations,
  type: 'bulk-counted',
  description:
    'A person put a member out. Of aggregate `bulk`, in one batch with that decision, so that replicas count together.',
});
export const bulkHeld = defineEvent({
  ...operations,
  type: 'bulk-held',
  description:
    'People want more members out within a minute than the limit allows: the operations listed wait for `bulk-confirmed`. Repeated for each operation that joins them, with a new id.',
});
export const bulkConfirmed = defineEvent({
  ...operations,
  type: 'bulk-confirmed',
  description: 'A person confirmed the operations that an id of `bulk-held` lists; they are acted on now.',
});

const unprovenSchema = z.looseObject({
  /** Plural of the kind, and `namespace/name` or `name`. */
  object: z.string(),
  /** What stands in it and does not count, such as `access:Namespace`. */
  word: z.string(),
});
export type UnprovenWord = z.infer<typeof unprovenSchema>;

/** Whether the admission policies around people hold, and what was written while they may not have held. Of the one aggregate `admission`. */
const admissionSchema = z.looseObject({
  inPlace: z.boolean(),
  /** Of the very set of policies that was last seen to hold: another one once any of them was written. */
  version: z.string(),
  /** Uid of one of our kinds in that Kubernetes: another one where Kubernetes was lost, or is another one. */
  kindUid: z.string(),
  /** Written by nobody knows whom: it does not count until somebody with the right writes it again. At most 500. */
  unproven: z.array(unprovenSchema).default([]),
  /** So many more were found and have no room: who begins to hear people then takes the whole list itself. */
  unlisted: z.int().min(1).optional(),
});
export type Admission = z.infer<typeof admissionSchema>;

export const admissionChanged = defineEvent({
  kind: 'hub',
  writer: 'approver',
  section: admissionSchema,
  type: 'admission-changed',
  description:
    'The admission policies around people were seen not to hold, or to hold again. Of aggregate `admission`. While they do not, nothing that people write is acted on; what was written meanwhile is listed in `unproven` and does not count until it is written again. Repeated when that list gets shorter.',
});
