import { z } from 'zod';
import { isPrintable } from '@rollcall/shared/text';
import { defineEvent } from '../define-event.ts';
import { isSafeId } from '../safe-id.ts';

/** Stands in commands that people are told to paste; a name is an object and a namespace as well. So it is checked again when it is read. */
export const wordSchema = z.string().refine(isSafeId, 'no word that a shell leaves alone');

/** Stands in the spec of objects, which kubectl prints. */
const lineSchema = z.string().refine(isPrintable, 'has characters that a terminal acts on');

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

/** A public key of a member's ServiceAccount issuer, as its API server shows it (JWK). */
export const memberKeySchema = z.looseObject({
  kid: z.string().max(128),
  kty: z.enum(['RSA', 'EC']),
  n: z.string().max(1400).optional(),
  e: z.string().max(16).optional(),
  crv: z.string().max(16).optional(),
  x: z.string().max(128).optional(),
  y: z.string().max(128).optional(),
});
export type MemberKey = z.infer<typeof memberKeySchema>;
export const maxMemberKeys = 8;

/** Who makes tokens in the member, and for whom the agent had one made (ADR 9). */
const memberIssuerSchema = z.looseObject({
  issuer: z.string().max(256),
  /** `system:serviceaccount:<namespace>:<name>` */
  subject: z.string().max(256),
  keys: z.array(memberKeySchema).min(1).max(maxMemberKeys),
});
export type MemberIssuer = z.infer<typeof memberIssuerSchema>;

const signedSchema = z.looseObject({ signed: z.string(), signatures: z.record(z.string(), z.string()) });

/** What came of the proof of member that a request carried. */
const memberProofSchema = z.looseObject({
  /** It holds by the issuer that is pinned for this cluster. */
  sameMember: z.boolean(),
  /** What it says by the keys that came with it: pinned when this request's key is admitted, and from then on only there. */
  shown: memberIssuerSchema.optional(),
  /** Why it proves nothing about the pinned member, in words. */
  problem: z.string().max(256).optional(),
});
export type MemberProof = z.infer<typeof memberProofSchema>;

/** Member credentials of the hub's epoch before it was restored, which the request showed in the place of a token (ADR 15). */
const memberBeforeRestoreSchema = z.looseObject({ issuedAtMs: z.int(), endsAtMs: z.int() });
export type MemberBeforeRestore = z.infer<typeof memberBeforeRestoreSchema>;

/** One request to join, as the registrar validated it. */
const joinRequestSchema = z.looseObject({
  /** The correlation that the agent chose; decisions name it. */
  id: z.string().min(1).max(64),
  key: z.string(),
  keyFingerprint: wordSchema,
  tokenId: z.string(),
  /** `<namespace>/<name>` of the ClusterRegistrationToken. */
  tokenName: lineSchema,
  /** Labels that the token itself gives, and those of the agent that the token allows. */
  labels: z.record(z.string(), z.string()).default({}),
  /** Labels that the agent asked for and its token does not allow. */
  droppedLabels: z.array(z.string()).default([]),
  clusterSet: z.string().optional(),
  claimed: claimsSchema,
  /** Absent where the agent showed none. */
  member: memberProofSchema.optional(),
  /** The hub had let this key in after the backup that it was restored from; there is no token then, and a person decides. */
  memberBeforeRestore: memberBeforeRestoreSchema.optional(),
  requestedAtMs: z.int(),
  /** When the agent signed it, in hub time as far as the agent knew it (ADR 6). */
  signedAtMs: z.int().optional(),
  /** The key that is in asked for this one in its place; `proof` is what both of them signed (ADR 10). */
  rotation: z
    .looseObject({
      from: z.string(),
      proof: signedSchema,
    })
    .optional(),
});
export type JoinRequest = z.infer<typeof joinRequestSchema>;

/** That a cluster is made up by a run of `rollcall simulate`, which alone writes it (ADR 1). */
export const simulatedSchema = z.looseObject({
  run: z.string(),
  /** Whether Kubernetes shows it. */
  isShown: z.boolean(),
});

/** The registrar's section of a cluster: who it is, which key it has, what it last asked for. */
export const identitySchema = z.looseObject({
  state: z.enum(['requested', 'refused', 'admitted', 'left']),
  clusterId: z.string(),
  /** As given, where the id is not the kube-system UID. */
  clientId: lineSchema.optional(),
  clusterName: wordSchema,
  clusterType: z.enum(['Standard', 'Edge']).default('Standard'),
  mode: z.enum(['Pull', 'Push']).default('Pull'),
  request: joinRequestSchema,
  /** The key that has member credentials. Another key in `request` asks to replace it. */
  admittedKey: z.string().optional(),
  admittedAtMs: z.int().optional(),
  /** The key that `admittedKey` took over from by a rotation; hub time when the agent was heard with the new one. */
  rotatedFrom: z.string().optional(),
  rotatedAtMs: z.int().optional(),
  /** The issuer of the member's tokens, pinned when the key was admitted; a later key may prove itself by it (ADR 9). */
  member: memberIssuerSchema.optional(),
  /** When it changed within the day before the last change, that one included; hub times in ms. Absent before the first. */
  pinnedAtMs: z.array(z.int()).optional(),
  refusal: z.looseObject({ code: z.string(), message: z.string() }).optional(),
  /** Made up by `rollcall simulate`; absent for all others. */
  simulated: simulatedSchema.optional(),
  /** What the agent of this key said about leaving; hub times in ms. */
  leave: z
    .looseObject({
      key: z.string(),
      /** It asked to leave. */
      signedAtMs: z.int().optional(),
      /** What it signed, that it wants to or has (ADR 14). */
      proof: signedSchema.optional(),
      /** It has removed what was installed in the member. */
      cleanedAtMs: z.int().optional(),
    })
    .optional(),
  /** The last flood of requests that was reported, by the key that sent it; `requests` beyond its budget in `seconds`, as one replica counted them. */
  flood: z.looseObject({ key: z.string(), atMs: z.int(), requests: z.int(), seconds: z.number() }).optional(),
});
export type Identity = z.infer<typeof identitySchema>;

/** How often a token was used; the registrar's section of a token. */
const tokenUsesSchema = z.looseObject({
  used: z.int().min(0),
  lastUsedBy: z.string(),
  lastUsedAtMs: z.int(),
  /** How often within a day, and how large these requests were together, from the first of these uses on; hub time in ms. */
  day: z.looseObject({ sinceMs: z.int(), used: z.int(), bytes: z.int().optional() }).optional(),
  /** Ids of all clusters whose requests came with it, where that is more than one. */
  usedBy: z.array(z.string()).optional(),
});
export type TokenUses = z.infer<typeof tokenUsesSchema>;

/** Which cluster has a name. */
export const nameSchema = z.looseObject({
  name: wordSchema,
  clusterId: z.string(),
  free: z.boolean().default(false),
});
export type NameHolder = z.infer<typeof nameSchema>;

const cluster = { kind: 'cluster', writer: 'registrar', section: identitySchema } as const;

export const requested = defineEvent({
  ...cluster,
  type: 'requested',
  description:
    'A cluster asked to join: token, key, proof, id and name are valid. Comes in one batch with `token.used` and, for a new name, `name.taken`. Followed by approved, held or denied. Repeated when another key, or the same cluster after it left, asks; and, with the same request and no token used, when a cluster that waits says something else of itself (`ClaimsChanged`).',
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
export const rotated = defineEvent({
  ...cluster,
  type: 'rotated',
  description:
    'The agent was heard with the new key of a rotation: it needs the former one no more. Follows admitted; once for each rotation. Followed by revoked of the former key.',
});
export const pinned = defineEvent({
  ...cluster,
  type: 'pinned',
  description:
    "The issuer of the member's tokens was pinned, or its keys changed: only the approved key can say so, with a renewal. Not repeated for the same keys, and four times a day at most.",
});
export const leaveRequested = defineEvent({
  ...cluster,
  type: 'leave-requested',
  description:
    'The agent asked to leave, signed by its own key, which the approver checks again. Once for each registration. Followed by leaving.',
});
export const cleaned = defineEvent({
  ...cluster,
  type: 'cleaned',
  description:
    'The agent of a leaving cluster has removed what was installed in the member. Follows leaving; missing where the agent was away, too late, or not awaited.',
});
export const left = defineEvent({
  ...cluster,
  type: 'left',
  description:
    'Hub and agent are done with a leaving cluster. Follows leaving, deprovisioned, and cleaned or the end of its time. A new requested may follow.',
});
export const flooded = defineEvent({
  ...cluster,
  type: 'flooded',
  description:
    'The agent of this cluster, in or waiting, asked far more often than any agent of ours does; its connections were ended. Repeated at most once in ten minutes while nobody has decided about it. Followed by revoked or denied.',
});
export const tokenUsed = defineEvent({
  kind: 'token',
  writer: 'registrar',
  section: tokenUsesSchema,
  type: 'used',
  description:
    'A token let a cluster ask, or several that asked at the same time: `used` counts each of them. Comes in one batch with their `cluster.requested`. Once for each key; asking again with the same key does not use it again.',
});
/** The one cluster that a key of an agent is good for. */
const keyHolderSchema = z.looseObject({ key: z.string(), clusterId: z.string() });
export type KeyHolder = z.infer<typeof keyHolderSchema>;

export const keyTaken = defineEvent({
  kind: 'key',
  writer: 'registrar',
  section: keyHolderSchema,
  type: 'taken',
  description:
    'A key of an agent belongs to this cluster from its first request on, and to no other one ever. Comes in one batch with `cluster.requested`. Once a key.',
});

export const nameTaken = defineEvent({
  kind: 'name',
  writer: 'registrar',
  section: nameSchema,
  type: 'taken',
  description: 'A cluster has this name from its first request on. Followed by released.',
});
