import { z } from 'zod';
import { factsSchema } from '@rollcall/shared/bus';
import { RollcallError } from '@rollcall/shared/errors';
import { maxMemberKeys, memberKeySchema } from '@rollcall/shared/events';
import { isSignedBy, type SignedMessage } from '@rollcall/shared/trust';
import { parseBoundedJson } from './bounded-json.ts';

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

const agentRequestSchema = z.discriminatedUnion('verb', [
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

const envelopeSchema = z.strictObject({
  signed: z.string().max(60_000),
  signatures: z.record(z.string().max(64), z.string().max(128)),
});

export interface ReceivedRequest {
  readonly agentKey: string;
  readonly request: AgentRequest;
  readonly envelope: SignedMessage;
  /** Whether facts were left out because this version does not know them. */
  readonly hasUnknownFacts: boolean;
}

/** The sender and the verb of `rollcall.request.<agent>.<verb>`; the server enforces the sender. */
function parseRequestSubject(subject: string): { agentKey: string; verb: string } | undefined {
  const [root, kind, agentKey, verb, ...rest] = subject.split('.');
  return root === 'rollcall' && kind === 'request' && agentKey && verb && rest.length === 0
    ? { agentKey, verb }
    : undefined;
}

/** As large as the server lets an agent's message be (claims.ts). */
const maxBytes = 65_536;

/** Of these the events keep what was signed as it was; our agents write some 300 characters. */
const keptVerbs = new Set(['leave', 'rotate']);
const longestKept = 2048;

/** Says whether it is too much of something right, or something wrong. */
function shapeError(error: z.ZodError): RollcallError {
  const isTooMuch = error.issues.every(({ code }) => code === 'too_big');
  return new RollcallError(
    isTooMuch ? 'REQUEST_TOO_LARGE' : 'REQUEST_INVALID',
    `the message does not fit its schema: ${z.prettifyError(error)}`,
  );
}

/**
 * Reads what an agent sent, as hostile input: shape, sizes, and that the sender of the subject signed it.
 * @throws RollcallError REQUEST_INVALID, REQUEST_TOO_LARGE, PROOF_INVALID
 */
export function decodeRequest(subject: string, data: Uint8Array): ReceivedRequest {
  const envelope = readEnvelope(data);
  const place = parseRequestSubject(subject);
  if (!place) throw notSigned();
  return readSigned(envelope, place);
}

/**
 * Reads a request that another service passes on whole, without the subject that it came with: whoever signed it sent it. What that
 * key may is the caller's to find out.
 * @throws RollcallError as decodeRequest
 */
export function decodeForwardedRequest(verb: Verb, data: Uint8Array): ReceivedRequest {
  const envelope = readEnvelope(data);
  const [agentKey, ...others] = Object.keys(envelope.signatures);
  if (agentKey === undefined || others.length > 0) throw notSigned();
  return readSigned(envelope, { agentKey, verb });
}

function notSigned(): RollcallError {
  return new RollcallError('REQUEST_INVALID', 'the message is no signed envelope');
}

function readEnvelope(data: Uint8Array): SignedMessage {
  if (data.length > maxBytes)
    throw new RollcallError('REQUEST_TOO_LARGE', `the message is longer than ${maxBytes} bytes`);
  const envelope = envelopeSchema.safeParse(parseBoundedJson(new TextDecoder().decode(data)));
  if (!envelope.success) throw notSigned();
  return envelope.data;
}

/** @param said - what `ask` was read from, so that it has its shape */
function hasUnknownFacts(said: unknown, request: AgentRequest): boolean {
  if (!('facts' in request.body)) return false;
  const { facts } = (said as { body: { facts: object } }).body;
  return Object.keys(facts).length > Object.keys(request.body.facts).length;
}

function readSigned(envelope: SignedMessage, place: { agentKey: string; verb: string }): ReceivedRequest {
  if (!isSignedBy(envelope, place.agentKey)) {
    throw new RollcallError('PROOF_INVALID', 'the message is not signed by the key that sent it');
  }
  if (keptVerbs.has(place.verb) && envelope.signed.length > longestKept)
    throw new RollcallError('REQUEST_TOO_LARGE', `the message is longer than ${longestKept} characters`);
  const said = parseBoundedJson(envelope.signed);
  const request = agentRequestSchema.safeParse(said);
  if (!request.success) throw shapeError(request.error);
  if (request.data.verb !== place.verb) {
    throw new RollcallError(
      'REQUEST_INVALID',
      `the message asks for "${request.data.verb}" on the subject of "${place.verb}"`,
    );
  }
  return {
    agentKey: place.agentKey,
    request: request.data,
    envelope,
    hasUnknownFacts: hasUnknownFacts(said, request.data),
  };
}
