import { z } from 'zod';
import { defineEvent } from './define-event.ts';

/** What the agent says of its member and nobody has verified; policies see it as `claimed.*`. */
export const claimsSchema = z.looseObject({
  kubernetesVersion: z.string().max(64).optional(),
  platform: z.string().max(64).optional(),
  provider: z.string().max(64).optional(),
  region: z.string().max(64).optional(),
  apiServerURL: z.string().max(256).optional(),
  nodesTotal: z.int().min(0).optional(),
  agentVersion: z.string().max(64).optional(),
  labels: z.record(z.string(), z.string()).default({}),
});
export type Claims = z.infer<typeof claimsSchema>;

/** One request to join, as the registrar validated it. */
export const joinRequestSchema = z.looseObject({
  /** The correlation that the agent chose; decisions name it. */
  id: z.string().min(1).max(64),
  key: z.string(),
  keyFingerprint: z.string(),
  tokenId: z.string(),
  /** `<namespace>/<name>` of the ClusterRegistrationToken. */
  tokenName: z.string(),
  /** Labels that the token itself gives, and those of the agent that the token allows. */
  labels: z.record(z.string(), z.string()).default({}),
  /** Labels that the agent asked for and its token does not allow. */
  droppedLabels: z.array(z.string()).default([]),
  clusterSet: z.string().optional(),
  claimed: claimsSchema,
  requestedAtMs: z.int(),
});
export type JoinRequest = z.infer<typeof joinRequestSchema>;

/** The registrar's section of a cluster: who it is, which key it has, what it last asked for. */
export const identitySchema = z.looseObject({
  state: z.enum(['requested', 'refused', 'admitted', 'left']),
  clusterId: z.string(),
  /** As given, where the id is not the kube-system UID. */
  clientId: z.string().optional(),
  clusterName: z.string(),
  clusterType: z.enum(['Standard', 'Edge']).default('Standard'),
  mode: z.enum(['Pull', 'Push']).default('Pull'),
  request: joinRequestSchema,
  /** The key that has member credentials. Another key in `request` asks to replace it. */
  admittedKey: z.string().optional(),
  admittedAtMs: z.int().optional(),
  refusal: z.looseObject({ code: z.string(), message: z.string() }).optional(),
});
export type Identity = z.infer<typeof identitySchema>;

/** How often a token was used; the registrar's section of a token. */
export const tokenUsesSchema = z.looseObject({
  used: z.int().min(0),
  lastUsedBy: z.string(),
  lastUsedAtMs: z.int(),
});
export type TokenUses = z.infer<typeof tokenUsesSchema>;

/** Which cluster has a name. */
export const nameSchema = z.looseObject({
  name: z.string(),
  clusterId: z.string(),
  free: z.boolean().default(false),
});
export type NameHolder = z.infer<typeof nameSchema>;

const cluster = { kind: 'cluster', writer: 'registrar', section: identitySchema } as const;

export const requested = defineEvent({
  ...cluster,
  type: 'requested',
  description:
    'A cluster asked to join: token, key, proof, id and name are valid. Comes in one batch with `token.used` and, for a new name, `name.taken`. Followed by approved, held or denied. Repeated when another key, or the same cluster after it left, asks.',
});
export const refused = defineEvent({
  ...cluster,
  type: 'refused',
  description:
    'A cluster with a known token asked and was refused before any policy was asked: its name is taken, its version too old. Not repeated for the same reason. May be followed by requested.',
});
export const admitted = defineEvent({
  ...cluster,
  type: 'admitted',
  description:
    'Member credentials were issued for the first time, or for a new key. Follows approved. Renewals are counted, not stored.',
});
export const left = defineEvent({
  ...cluster,
  type: 'left',
  description:
    'Hub and agent are done with a leaving cluster. Follows leaving and deprovisioned. A new requested may follow.',
});
export const tokenUsed = defineEvent({
  kind: 'token',
  writer: 'registrar',
  section: tokenUsesSchema,
  type: 'used',
  description:
    'A token let a cluster ask. Once for each key; asking again with the same key does not use it again.',
});
export const nameTaken = defineEvent({
  kind: 'name',
  writer: 'registrar',
  section: nameSchema,
  type: 'taken',
  description: 'A cluster has this name from its first request on. Followed by released.',
});
