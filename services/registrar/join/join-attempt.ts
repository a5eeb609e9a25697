import type { Trace } from '@rollcall/shared/bus';
import { clusterIdOf, isSafeId } from '@rollcall/shared/events';
import type { JoinBody, ReceivedRequest } from '@rollcall/shared/protocol';
import { cutText, isPrintable } from '@rollcall/shared/text';
import { isPublicNkey, isSignedBy, tokenIdOf } from '@rollcall/shared/trust';
import type { Refusal } from '../replies/refusal.ts';
import { refuseUnsafeName } from './refuse-taken-name.ts';

export type JoinRequested = Extract<ReceivedRequest['request'], { verb: 'join' }>;

/** A request to join, from the wire to the batch that writes it: the same value all the way. */
export interface JoinAttempt {
  readonly id: string;
  readonly agentKey: string;
  /** Of the token that the request names; undefined where it names none. */
  readonly tokenId: string | undefined;
  /** Whether the token's key signed the request too. */
  readonly tokenProven: boolean;
  /** When the agent signed it, in hub time as far as it knew it. */
  readonly signedAtMs?: number;
  readonly body: JoinBody;
  /** Goes with every event that it causes. */
  readonly trace: Trace;
}

/**
 * Whether the cluster's own words about itself can be used at all. Run before anything is read, because its id and name
 * become subjects.
 */
export function refuseShape(body: JoinBody): Refusal | undefined {
  const shownId = cutText(body.clusterId, 80);
  if (!isSafeId(body.clusterId)) {
    return { code: 'CLUSTER_ID_INVALID', message: `"${shownId}" is no valid cluster id` };
  }
  if (body.clientId !== undefined && clusterIdOf(body.clientId) !== body.clusterId) {
    return {
      code: 'CLUSTER_ID_INVALID',
      message: `the cluster id "${shownId}" is not that of its client id`,
    };
  }
  if (body.clientId !== undefined && !isPrintable(body.clientId)) {
    return { code: 'CLUSTER_ID_INVALID', message: 'the client id has characters that cannot be seen' };
  }
  return refuseUnsafeName(body.clusterName);
}

/** Verifies the token's signature, so it is called once for an attempt and not for its repetitions. */
export function readAttempt(
  { agentKey, envelope }: Pick<ReceivedRequest, 'agentKey' | 'envelope'>,
  { id, atMs, body }: Pick<JoinRequested, 'id' | 'atMs' | 'body'>,
  traceparent: string | undefined,
): JoinAttempt {
  const { tokenKey } = body;
  const isKey = tokenKey !== undefined && isPublicNkey(tokenKey, 'user');
  return {
    id,
    agentKey,
    tokenId: isKey ? tokenIdOf(tokenKey) : undefined,
    tokenProven: isKey && isSignedBy(envelope, tokenKey),
    signedAtMs: atMs,
    body,
    trace: { correlation: id, traceparent },
  };
}
