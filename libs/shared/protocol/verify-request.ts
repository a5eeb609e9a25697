import { z } from 'zod';
import { RollcallError } from '@rollcall/shared/errors';
import { isSignedBy, type SignedMessage } from '@rollcall/shared/trust';
import { parseBoundedJson } from './bounded-json.ts';
import { type AgentRequest, agentRequestSchema, type Verb } from './request-schema.ts';

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

/** As large as the server lets an agent's message be (nats-account-claims.ts). */
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
