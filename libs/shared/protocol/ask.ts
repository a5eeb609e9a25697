import { z } from 'zod';
import { factsSchema } from '@rollcall/shared/bus';
import { RollcallError } from '@rollcall/shared/errors';
import { isSignedBy, type SignedMessage } from '@rollcall/shared/trust';

const name = z.string().min(1).max(253);
const label = z.string().max(317);

const joinBody = z.strictObject({
  clusterId: name,
  /** As given by a person, where the id is not the kube-system UID. */
  clientId: name.optional(),
  clusterName: name,
  clusterType: z.enum(['Standard', 'Edge']).default('Standard'),
  mode: z.enum(['Pull', 'Push']).default('Pull'),
  /** Public key of the registration token; it signs the request too. Absent when a known key asks again. */
  tokenKey: z.string().max(64).optional(),
  labels: z.record(label, z.string().max(63)).default({}),
  facts: factsSchema,
});
export type JoinBody = z.infer<typeof joinBody>;

const bodies = {
  join: joinBody,
  renew: z.strictObject({ clusterId: name }),
  facts: z.strictObject({ clusterId: name, facts: factsSchema }),
} as const;

export type Verb = keyof typeof bodies;

const common = {
  v: z.literal(1),
  hub: z.string().max(32),
  /** Chosen by the agent; every event and log line that follows carries it. */
  id: z.string().regex(/^[a-z0-9-]{8,64}$/),
  /** The agent's clock: reported, never trusted. */
  atMs: z.int(),
  /** W3C Trace Context; it becomes a header of events, so nothing else may be in it. */
  traceparent: z
    .string()
    .regex(/^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/)
    .optional(),
};

const askSchema = z.discriminatedUnion('verb', [
  z.strictObject({ ...common, verb: z.literal('join'), body: bodies.join }),
  z.strictObject({ ...common, verb: z.literal('renew'), body: bodies.renew }),
  z.strictObject({ ...common, verb: z.literal('facts'), body: bodies.facts }),
]);
export type Ask = z.infer<typeof askSchema>;
/** What an agent sends, before the hub has filled in defaults. */
export type AskInput = z.input<typeof askSchema>;

const envelopeSchema = z.strictObject({
  signed: z.string().max(60_000),
  signatures: z.record(z.string().max(64), z.string().max(128)),
});

export interface ReceivedAsk {
  readonly agentKey: string;
  readonly ask: Ask;
  readonly envelope: SignedMessage;
}

/** The sender and the verb of `rollcall.ask.<agent>.<verb>`; the server enforces the sender. */
export function parseAskSubject(subject: string): { agentKey: string; verb: string } | undefined {
  const [root, ask, agentKey, verb, ...rest] = subject.split('.');
  return root === 'rollcall' && ask === 'ask' && agentKey && verb && rest.length === 0
    ? { agentKey, verb }
    : undefined;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * Reads what an agent sent, as hostile input: shape, sizes, and that the sender of the subject signed it.
 * @throws RollcallError ASK_INVALID, PROOF_INVALID
 */
export function decodeAsk(subject: string, data: Uint8Array): ReceivedAsk {
  const place = parseAskSubject(subject);
  const envelope = envelopeSchema.safeParse(parseJson(new TextDecoder().decode(data)));
  if (!place || !envelope.success)
    throw new RollcallError('ASK_INVALID', 'the message is no signed envelope');
  if (!isSignedBy(envelope.data, place.agentKey)) {
    throw new RollcallError('PROOF_INVALID', 'the message is not signed by the key that sent it');
  }
  const ask = askSchema.safeParse(parseJson(envelope.data.signed));
  if (!ask.success)
    throw new RollcallError(
      'ASK_INVALID',
      `the message does not fit its schema: ${z.prettifyError(ask.error)}`,
    );
  if (ask.data.verb !== place.verb) {
    throw new RollcallError(
      'ASK_INVALID',
      `the message asks for "${ask.data.verb}" on the subject of "${place.verb}"`,
    );
  }
  return { agentKey: place.agentKey, ask: ask.data, envelope: envelope.data };
}
