import { z } from 'zod';
import { causeSchema, defineEvent } from '../define-event.ts';
import { wordSchema, nameSchema, simulatedSchema } from './registrar-events.ts';

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
  /** The key that was in when a person set hubAcceptsClient to false: true gives it back, whoever has asked meanwhile. */
  withdrawnKey: z.string().optional(),
  clusterName: wordSchema,
  namespace: z.string(),
  labels: z.record(z.string(), z.string()).default({}),
  clusterSet: z.string().optional(),
  access: z.enum(['None', 'Namespace']).default('None'),
  /** A person lets nobody into the member by way of the hub; absent: whom its owner lets in. */
  memberAccess: z.literal('Denied').optional(),
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
