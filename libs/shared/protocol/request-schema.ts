import { z } from 'zod';
import { factsSchema } from '@rollcall/shared/bus';
import { maxMemberKeys, memberKeySchema } from '@rollcall/shared/events';

const name = z.string().min(1).max(253);
const label = z.string().max(317);
const maxLabels = 64;
/** Every event of a cluster carries them: as JSON, so that what has to be escaped counts for what it takes. */
const maxLabelBytes = 16_384;
const labels = z.record(label, z.string().max(63)).check(({ value, issues }) => {
  const isMany = Object.keys(value).length > maxLabels;
  if (!isMany && Buffer.byteLength(JSON.stringify(value)) <= maxLabelBytes) return;
  const [maximum, what] = isMany ? [maxLabels, 'labels'] : [maxLabelBytes, 'bytes of labels'];
  issues.push({
    code: 'too_big',
    origin: 'labels',
    maximum,
    input: value,
    message: `more than ${maximum} ${what}`,
  });
});

const { kid, kty, n, e, crv, x, y } = memberKeySchema.shape;
/** Base64url, padded or not: every letter stands for itself in JSON, so that no key takes more than its length. */
const plain = /^[\w+/=-]*$/;
const memberKey = z.strictObject({
  kid,
  kty,
  n: n.unwrap().regex(plain).optional(),
  e: e.unwrap().regex(plain).optional(),
  crv: crv.unwrap().regex(plain).optional(),
  x: x.unwrap().regex(plain).optional(),
  y: y.unwrap().regex(plain).optional(),
});

/**
 * A token of the member for its own ServiceAccount, made for this hub and this key only, and the public keys of its issuer
 * (ADR 9). Good for nothing else, so it is no secret.
 */
const memberClaim = z.strictObject({
  token: z.string().max(4096),
  keys: z.array(memberKey).min(1).max(maxMemberKeys),
});
export type MemberClaim = z.infer<typeof memberClaim>;

const joinBody = z.strictObject({
  clusterId: name,
  /** As given by a person, where the id is not the kube-system UID. */
  clientId: name.optional(),
  clusterName: name,
  clusterType: z.enum(['Standard', 'Edge']).default('Standard'),
  mode: z.enum(['Pull', 'Push']).default('Pull'),
  /** Public key of the registration token; it signs the request too. Absent when a known key asks again. */
  tokenKey: z.string().max(64).optional(),
  labels: labels.default({}),
  member: memberClaim.optional(),
  /** Its member credentials, where a restored hub says that it does not know the cluster (ADR 15). Of no use without the key. */
  formerJwt: z.string().max(4096).optional(),
  facts: factsSchema,
});
export type JoinBody = z.infer<typeof joinBody>;

/**
 * What decides something is strict: a field that was passed over could have been a condition. Facts are not (`factsSchema`), so
 * that an agent one version ahead of its hub registers. Whatever else a newer agent has to say, it says once a reply has shown
 * that its hub knows it, as `formerJwt` is.
 */
const bodies = {
  join: joinBody,
  renew: z.strictObject({ clusterId: name, member: memberClaim.optional() }),
  facts: z.strictObject({ clusterId: name, facts: factsSchema }),
  /** `sealTo`: the agent's X25519 key; named in what it signs, so that nobody else has secrets sealed to another. */
  access: z.strictObject({ clusterId: name, sealTo: z.string().regex(/^X[A-Z2-7]{55}$/) }),
  /** `done`: what was installed in the member is removed; else the agent asks to leave. */
  leave: z.strictObject({ clusterId: name, done: z.boolean() }),
  /** `newKey` takes the place of the key that asks; it signs the request too (ADR 10). */
  rotate: z.strictObject({ clusterId: name, newKey: z.string().regex(/^U[A-Z2-7]{55}$/) }),
} as const;

export type Verb = keyof typeof bodies;
/** What an agent can ask for; the last word of the subject. */
export const verbs = Object.keys(bodies) as Verb[];

const common = {
  v: z.literal(1),
  hub: z.string().max(32),
  /** Chosen by the agent; every event and log line that follows carries it. */
  id: z.string().regex(/^[a-z0-9-]{8,64}$/),
  /** When it was signed, in hub time as far as the agent knows it (ADR 6). */
  atMs: z.int(),
  /** W3C Trace Context; it becomes a header of events, so nothing else may be in it. */
  traceparent: z
    .string()
    .regex(/^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/)
    .optional(),
};

export const agentRequestSchema = z.discriminatedUnion('verb', [
  z.strictObject({ ...common, verb: z.literal('join'), body: bodies.join }),
  z.strictObject({ ...common, verb: z.literal('renew'), body: bodies.renew }),
  z.strictObject({ ...common, verb: z.literal('facts'), body: bodies.facts }),
  z.strictObject({ ...common, verb: z.literal('access'), body: bodies.access }),
  z.strictObject({ ...common, verb: z.literal('leave'), body: bodies.leave }),
  z.strictObject({ ...common, verb: z.literal('rotate'), body: bodies.rotate }),
]);
export type AgentRequest = z.infer<typeof agentRequestSchema>;
/** What an agent sends, before the hub has filled in defaults. */
export type AgentRequestInput = z.input<typeof agentRequestSchema>;
