import { jetstreamManager } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';

export interface StreamSize {
  readonly messages: number;
  readonly bytes: number;
  readonly lastSequence: number;
}

/** Whoever may not ask is never answered; who may is at once. */
export const answerWithinMs = 3000;

/** @returns undefined for a stream that is not there, or that these credentials may not look at */
export async function streamSize(
  nc: NatsConnection,
  name: 'EVENTS' | 'FACTS' | 'DEAD',
): Promise<StreamSize | undefined> {
  try {
    const jsm = await jetstreamManager(nc, { checkAPI: false, timeout: answerWithinMs });
    const { state } = await jsm.streams.info(name);
    return { messages: state.messages, bytes: state.bytes, lastSequence: state.last_seq };
  } catch {
    return undefined;
  }
}
