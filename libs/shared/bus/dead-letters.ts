import { jetstream } from '@nats-io/jetstream';
import { headers, type NatsConnection } from '@nats-io/transport-node';
import { RollcallError } from '@rollcall/shared/errors';
import { z } from 'zod';
import { asBusError } from './bus-error.ts';
import { directGet } from './reads/direct-get.ts';
import { type RawMessage, storedAtMs, textOf } from './reads/raw-message.ts';

const letterSchema = z.looseObject({
  service: z.string(),
  subject: z.string(),
  sequence: z.number(),
  code: z.string(),
  message: z.string(),
  deliveries: z.number(),
  body: z.string().optional(),
});

/** An event that a service could not handle, as `consumeEvents` moved it to the dead letters, or put it aside for a newer version. */
export type DeadLetter = z.infer<typeof letterSchema> & {
  /** Its place in stream DEAD. */
  readonly id: number;
  readonly atMs: number;
  /** Put aside: whoever runs a version that knows the event handles it then. */
  readonly isHeld: boolean;
};

const batch = 256;

async function* lettersUnder(nc: NatsConnection, filter: string): AsyncGenerator<RawMessage> {
  for (let next = 1; ;) {
    const messages = await directGet(nc, 'DEAD', { seq: next, batch, next_by_subj: filter });
    yield* messages;
    if (messages.length < batch) return;
    next = (messages.at(-1)?.sequence ?? next) + 1;
  }
}

/**
 * Every dead letter, oldest first; what is none of ours is left out.
 * @throws RollcallError BUS_UNREACHABLE, also where these credentials may not read them
 */
export async function readDeadLetters(nc: NatsConnection): Promise<DeadLetter[]> {
  const letters: DeadLetter[] = [];
  for await (const message of lettersUnder(nc, 'rollcall.>')) {
    const parsed = letterSchema.safeParse(parseJson(textOf(message)));
    if (!parsed.success) continue;
    const isHeld = message.subject.startsWith('rollcall.held.');
    letters.push({ ...parsed.data, id: message.sequence, atMs: storedAtMs(message), isHeld });
  }
  return letters;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * How many events each service has put aside for a newer version, or for another try.
 * @returns undefined where these credentials may not look
 */
export async function countHeldEvents(
  nc: NatsConnection,
): Promise<Readonly<Partial<Record<string, number>>> | undefined> {
  const notes = await Array.fromAsync(lettersUnder(nc, 'rollcall.held.*.*')).catch(() => undefined);
  if (notes === undefined) return undefined;
  const byService = Object.groupBy(notes, ({ subject }) => subject.split('.')[2] ?? '');
  return Object.fromEntries(Object.entries(byService).map(([service, held]) => [service, held?.length]));
}

/** @param after - what the subject must have last, or nothing is put */
async function put(
  nc: NatsConnection,
  subject: string,
  body: unknown,
  { ttl, after }: { ttl: string; after?: number },
): Promise<void> {
  const ends = headers();
  ends.set('Nats-TTL', ttl);
  const expect = after === undefined ? {} : { expect: { lastSubjectSequence: after } };
  await jetstream(nc)
    .publish(subject, JSON.stringify(body), { headers: ends, ...expect })
    .catch((cause: unknown) => {
      throw asBusError(cause);
    });
}

/**
 * Forgets a dead letter; the event is in EVENTS as before. One that has been moved to the dead letters again meanwhile is another, and stays.
 * @returns whether it is gone
 * @throws RollcallError BUS_UNREACHABLE
 */
export async function dropDeadLetter(
  nc: NatsConnection,
  { service, sequence, id }: Pick<DeadLetter, 'service' | 'sequence' | 'id'>,
): Promise<boolean> {
  try {
    // Whoever may delete could delete everything: something that ends by itself takes its place.
    await put(nc, `rollcall.dead.${service}.${sequence}`, {}, { ttl: '1s', after: id });
    return true;
  } catch (error) {
    if (error instanceof RollcallError && error.code === 'APPEND_CONFLICT') return false;
    throw error;
  }
}

/**
 * Has the service handle the event again: it is put aside as one of a newer version, which services look for every minute.
 * @throws RollcallError BUS_UNREACHABLE
 */
export async function retryDeadLetter(nc: NatsConnection, letter: DeadLetter): Promise<void> {
  const { service, subject, sequence, code, message, deliveries } = letter;
  const note = { service, subject, sequence, code, message, deliveries };
  await put(nc, `rollcall.held.${service}.${sequence}`, note, { ttl: 'never' });
  await dropDeadLetter(nc, letter);
}
