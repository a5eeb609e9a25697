import { isSignedBy, type Nkey, type SignedMessage, signMessage } from '@rollcall/shared/trust/keys';

/** What the hub answers. Answers say what is so; hearing one twice changes nothing. */
export type AnswerResult =
  | {
      readonly kind: 'waiting';
      readonly clusterId: string;
      /** CamelCase: why it waits, and in the message for whom. */
      readonly reason: string;
      readonly message: string;
      /** A user JWT of the agent's own key, to wait with; independent of the token's end. */
      readonly credentials?: string;
      readonly askAgainMs: number;
    }
  | {
      readonly kind: 'admitted';
      readonly clusterId: string;
      readonly clusterName: string;
      readonly namespace: string;
      /** The member's user JWT, for the agent's own key. */
      readonly credentials: string;
      readonly expiresAtMs: number;
      /** How long from now until the agent should renew. */
      readonly renewAfterMs: number;
      readonly beatIntervalMs: number;
    }
  | {
      readonly kind: 'refused';
      /** A code of the error catalogue, perhaps of a newer one. */
      readonly code: string;
      readonly message: string;
      readonly hint: string;
      /** When to ask again; a refusal is retried in minutes, because people change their minds. */
      readonly askAgainMs: number;
    }
  | { readonly kind: 'done' };

export interface Answer {
  readonly v: 1;
  readonly hub: string;
  /** The public key of the agent it is for: one agent's answer cannot be shown to another. */
  readonly to: string;
  /** The id of the ask; for news without an ask (an approval), the id of the request it is about. */
  readonly inReplyTo: string;
  readonly atMs: number;
  readonly result: AnswerResult;
}

export function answerSubject(agentKey: string, verb: string): string {
  return `rollcall.answer.${agentKey}.${verb}`;
}

export function encodeAnswer(answer: Answer, answerKey: Nkey): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(signMessage(answer, [answerKey])));
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** By hand, because the agent loads no schema library for it. */
function isSignedMessage(value: unknown): value is SignedMessage {
  const { signed, signatures } = (value ?? {}) as Readonly<Record<string, unknown>>;
  const isRecord = typeof signatures === 'object' && signatures !== null;
  return (
    typeof signed === 'string' &&
    isRecord &&
    Object.values(signatures).every((signature) => typeof signature === 'string')
  );
}

/**
 * Reads an answer and checks that the hub made it for this agent.
 * @param expected.answerKeyIsTrusted - compares the key's hash with the token, or the key with the pinned one
 * @returns undefined for anything that is not a true answer: it is ignored, whoever sent it
 */
export function decodeAnswer(
  data: Uint8Array,
  expected: { agentKey: string; answerKeyIsTrusted: (publicKey: string) => boolean },
): { answer: Answer; answerKey: string } | undefined {
  const envelope = parseJson(new TextDecoder().decode(data));
  if (!isSignedMessage(envelope)) return undefined;
  const answerKey = Object.keys(envelope.signatures).find((key) => expected.answerKeyIsTrusted(key));
  if (answerKey === undefined || !isSignedBy(envelope, answerKey)) return undefined;
  const answer = parseJson(envelope.signed) as Answer | null | undefined;
  return answer?.v === 1 && answer.to === expected.agentKey && answer.result
    ? { answer, answerKey }
    : undefined;
}
