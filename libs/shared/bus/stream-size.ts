import type { NatsConnection } from '@nats-io/transport-node';
import { isWatcher } from './reads/direct-get.ts';
import { type StreamName, type StreamState, streamState } from './reads/whole-stream.ts';

export type StreamSize = Pick<StreamState, 'messages' | 'bytes' | 'lastSequence'>;

/** Whoever may not ask is never answered; who may is at once. */
export const answerWithinMs = 3000;

/** @returns undefined for a stream that is not there, or that these credentials may not look at */
export async function streamSize(nc: NatsConnection, name: StreamName): Promise<StreamSize | undefined> {
  if (isWatcher(nc) && name !== 'EVENTS') return undefined;
  return streamState(nc, name, { timeout: answerWithinMs }).catch(() => undefined);
}
