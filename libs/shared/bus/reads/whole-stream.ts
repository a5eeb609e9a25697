import { type ConsumerInfo, jetstream } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import { RollcallError } from '@rollcall/shared/errors';
import { consumedEvents, consumersOf, type ConsumingService } from '@rollcall/shared/rights';
import { z } from 'zod';
import { asBusError } from '../bus-error.ts';
import { directGet, historySubject, isWatcher } from './direct-get.ts';
import { streamManager } from '../stream-manager.ts';
import { sentOnHeaders } from '../message-headers.ts';
import { notBehind } from './up-to-date.ts';
import { readRequest } from './on-reconnect.ts';
import { storedAtMs } from './raw-message.ts';

export type StreamName = 'EVENTS' | 'FACTS' | 'DEAD';

/** A message as it is stored, with the headers of whoever wrote it. */
export interface StreamMessage {
  readonly sequence: number;
  readonly subject: string;
  readonly timeMs: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly data: Uint8Array;
}

const readBatch = 250;
/** Appends on their way at once; the server makes each of them last before it says so. */
const window = 256;

const historyState = z.object({
  messages: z.int(),
  bytes: z.int(),
  firstSequence: z.int(),
  lastSequence: z.int(),
  /** Those who only watch are not told by a service of an earlier version. */
  subjects: z.int().default(0),
});
export type StreamState = z.output<typeof historyState>;

/** The projector may be giving pages to others at the same time, each some MiB. */
const historyTimeoutMs = 5000;

async function askHistoryState(nc: NatsConnection): Promise<StreamState> {
  const reply = await readRequest(nc, historySubject, {
    question: '{"state":true}',
    timeoutMs: historyTimeoutMs,
  });
  if (reply.data.length === 0)
    throw new RollcallError('BUS_UNREACHABLE', 'the hub does not say now how long the history is');
  return historyState.parse(reply.json());
}

/** @throws RollcallError BUS_UNREACHABLE */
export async function streamState(
  nc: NatsConnection,
  name: StreamName,
  options: { timeout?: number } = {},
): Promise<StreamState> {
  if (isWatcher(nc)) return askHistoryState(nc);
  const jsm = await streamManager(nc, options);
  const { state } = await jsm.streams.info(name).catch((cause: unknown) => {
    throw asBusError(cause);
  });
  const { messages, bytes, first_seq: firstSequence, last_seq: lastSequence, num_subjects: subjects } = state;
  return { messages, bytes, firstSequence, lastSequence, subjects: subjects ?? 0 };
}

/**
 * Every message up to a sequence, oldest first, whether or not it can be understood. From EVENTS nothing is ever deleted, so an end
 * before that sequence is one of a server that is behind, and is not believed.
 * @param throughSequence - as the stream's leader has it
 * @throws RollcallError BUS_UNREACHABLE
 */
export async function* readStream(
  nc: NatsConnection,
  name: StreamName,
  throughSequence: number,
): AsyncIterable<StreamMessage> {
  for (let next = 1; next <= throughSequence;) {
    const from = next;
    const read = () => directGet(nc, name, { seq: from, batch: readBatch });
    const messages =
      name === 'EVENTS' ? await notBehind(throughSequence, read, ({ length }) => length > 0) : await read();
    if (messages.length === 0) return;
    for (const message of messages) {
      const { sequence, subject, data } = message;
      if (sequence > throughSequence) return;
      next = sequence + 1;
      const all = Object.fromEntries(message.headerNames().map((key) => [key, message.header(key)]));
      yield { sequence, subject, timeMs: storedAtMs(message), headers: all, data };
    }
  }
}

/** What the server says of every service's consumers. @throws RollcallError BUS_UNREACHABLE */
async function consumerInfos(nc: NatsConnection): Promise<ConsumerInfo[]> {
  const jsm = await streamManager(nc);
  const consumers = (Object.keys(consumedEvents) as ConsumingService[]).flatMap(consumersOf);
  const infos = consumers.map(({ name }) => jsm.consumers.info('EVENTS', name));
  return Promise.all(infos).catch((cause: unknown) => {
    throw asBusError(cause);
  });
}

/** Up to which event each consumer has handled everything, by its name. */
export async function handledEvents(nc: NatsConnection): Promise<Record<string, number>> {
  const infos = await consumerInfos(nc);
  return Object.fromEntries(infos.map(({ name, ack_floor }) => [name, ack_floor.stream_seq]));
}

/**
 * Up to which event every service is done with all that is given to it; Infinity: nothing waits.
 * @throws RollcallError BUS_UNREACHABLE
 */
export async function handledByAll(nc: NatsConnection): Promise<number> {
  const floors = (await consumerInfos(nc)).map(({ num_pending, num_ack_pending, ack_floor }) =>
    // The floor stands at the last event that was for it, however long ago that was.
    num_pending === 0 && num_ack_pending === 0 ? Infinity : ack_floor.stream_seq,
  );
  return Math.min(...floors);
}

/**
 * Writes messages into a stream, in their order.
 * @param options.sameSequences - each gets the sequence that it had, or nothing is written from there on
 * @throws RollcallError APPEND_CONFLICT where the stream is not as empty as it should be, BUS_UNREACHABLE
 */
export async function refillStream(
  nc: NatsConnection,
  messages: AsyncIterable<Pick<StreamMessage, 'sequence' | 'subject' | 'headers' | 'data'>>,
  options: { sameSequences: boolean },
): Promise<number> {
  const js = jetstream(nc);
  const underWay: Promise<unknown>[] = [];
  let count = 0;
  const settleOldest = async () => {
    await underWay.shift();
  };
  try {
    for await (const { sequence, subject, headers: meta, data } of messages) {
      const all = sentOnHeaders(meta);
      if (options.sameSequences) all.set('Nats-Expected-Last-Sequence', String(sequence - 1));
      const written = js.publish(subject, data, { headers: all });
      // Awaited in its turn; until then a failure must not count as unhandled.
      written.catch(() => undefined);
      underWay.push(written);
      count++;
      if (underWay.length >= window) await settleOldest();
    }
    while (underWay.length > 0) await settleOldest();
  } catch (cause) {
    throw asBusError(cause);
  }
  return count;
}
