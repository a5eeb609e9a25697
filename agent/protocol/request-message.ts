import { randomBytes, randomUUID } from 'node:crypto';
import type { AgentRequestInput } from '@rollcall/shared/protocol';
import { type Nkey, signMessage } from '@rollcall/shared/trust/keys';

/** One kind of requests and what it carries. */
export type RequestContent = AgentRequestInput extends infer One
  ? One extends AgentRequestInput
    ? Pick<One, 'verb' | 'body'>
    : never
  : never;

export interface RequestMessage {
  /** Replies name it; every event that follows from the request carries it. */
  readonly id: string;
  readonly subject: string;
  readonly data: Uint8Array;
}

/**
 * Writes a request as the hub reads it: signed by the agent's key, whatever the connection proved, and by the token's where there is
 * one. It starts the trace that goes through to the last status that the hub shows.
 */
export function encodeRequest(
  content: RequestContent,
  sender: {
    hubId: string;
    ownKey: Nkey;
    tokenKey: Nkey | undefined;
    /** The key that is to take over; it signs the request for that too. */
    nextKey?: Nkey | undefined;
    /** How much the hub's clock is ahead of ours, as far as we have heard it (ADR 6). */
    hubAheadMs?: number;
  },
): RequestMessage {
  const { hubId, ownKey, tokenKey, nextKey, hubAheadMs = 0 } = sender;
  const id = randomUUID();
  const traceparent = `00-${randomBytes(16).toString('hex')}-${randomBytes(8).toString('hex')}-01`;
  const request: AgentRequestInput = {
    v: 1,
    hub: hubId,
    id,
    atMs: Date.now() + hubAheadMs,
    traceparent,
    ...content,
  };
  const signers = [ownKey, tokenKey, nextKey].filter((key) => key !== undefined);
  return {
    id,
    subject: `rollcall.request.${ownKey.publicKey}.${content.verb}`,
    data: new TextEncoder().encode(JSON.stringify(signMessage(request, signers))),
  };
}
