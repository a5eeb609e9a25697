import { jetstreamManager } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import { z } from 'zod';
import { directGet } from './direct-get.ts';

const letterSchema = z.looseObject({
  service: z.string(),
  subject: z.string(),
  sequence: z.number(),
  code: z.string(),
  message: z.string(),
  deliveries: z.number(),
  body: z.string().optional(),
});

/** An event that a service could not handle, as `consumeEvents` buried it, or put it aside for a newer version. */
export type DeadLetter = z.infer<typeof letterSchema> & {
  /** Its place in stream DEAD. */
  readonly id: number;
  readonly atMs: number;
  /** Put aside: whoever runs a version that knows the event handles it then. */
  readonly isHeld: boolean;
};

const batch = 256;

/**
 * Every dead letter, oldest first; what is none of ours is left out.
 * @throws RollcallError BUS_UNREACHABLE, also where these credentials may not read them
 */
export async function readDeadLetters(nc: NatsConnection): Promise<DeadLetter[]> {
  const { direct } = await jetstreamManager(nc, { checkAPI: false });
  const letters: DeadLetter[] = [];
  for (let next = 1; ;) {
    const messages = await directGet(direct, 'DEAD', { seq: next, batch, next_by_subj: 'rollcall.>' });
    for (const message of messages) {
      next = message.seq + 1;
      const parsed = letterSchema.safeParse(parseJson(message.string()));
      if (parsed.success) {
        const isHeld = message.subject.startsWith('rollcall.held.');
        letters.push({ ...parsed.data, id: message.seq, atMs: message.time.getTime(), isHeld });
      }
    }
    if (messages.length < batch) return letters;
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
