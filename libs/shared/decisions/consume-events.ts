import { jetstream, type JsMsg } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import { type RollcallError, toRollcallError } from '@rollcall/shared/errors';
import { decodeEvent, type StoredEvent } from '@rollcall/shared/events';
import type { ConsumingService } from '@rollcall/shared/rights';
import type { Logger } from '@rollcall/shared/service';
import { createKeyedQueue } from './keyed-queue.ts';
import { afterFailure } from './after-failure.ts';

const stream = 'EVENTS';
/** Half of the consumer's ack_wait: a slow handler is not mistaken for a dead one. */
const workingIntervalMs = 15_000;

export interface ConsumeOptions {
  readonly service: ConsumingService;
  readonly logger: Logger;
  /** Level-based: it looks at the record, so that redelivery and reordering change nothing. Returns or throws. */
  handle(event: StoredEvent): Promise<void>;
  /** false: events of one aggregate are handled at the same time, for a handler that puts bursts together by itself. */
  readonly ordered?: boolean;
  onDead?(error: RollcallError): void;
}

export interface Consumption {
  /** Stops fetching, lets running handlers finish and acknowledge, and returns. */
  drain(): Promise<void>;
  /** How many handlers are running. */
  running(): number;
}

function decodeMessage(message: JsMsg): StoredEvent {
  return decodeEvent({
    subject: message.subject,
    sequence: message.seq,
    header: (name) => message.headers?.get(name) ?? '',
    data: message.data,
  });
}

/**
 * The adapter between the stream and a service: consume, handle, acknowledge, retry, dead letter. Replicas of a service share
 * the durable consumer; events of one aggregate are handled one after another within a process.
 */
export async function consumeEvents(nc: NatsConnection, options: ConsumeOptions): Promise<Consumption> {
  const { service, logger } = options;
  const js = jetstream(nc);
  const consumer = await js.consumers.get(stream, service);
  const queue = createKeyedQueue();
  const running = new Set<Promise<void>>();

  async function bury(message: JsMsg, error: RollcallError): Promise<void> {
    // First the copy, then the end: after term() the message can no longer be found by its delivery.
    await js.publish(
      `rollcall.dead.${service}`,
      JSON.stringify({
        service,
        subject: message.subject,
        sequence: message.seq,
        code: error.code,
        message: error.message,
        deliveries: message.info.deliveryCount,
        body: message.string().slice(0, 65_536),
      }),
    );
    message.term(error.code);
    logger.error(
      { err: error, seq: message.seq, subject: message.subject },
      'event moved to the dead letters',
    );
    options.onDead?.(error);
  }

  async function handleMessage(message: JsMsg): Promise<void> {
    const working = setInterval(() => message.working(), workingIntervalMs);
    try {
      const event = decodeMessage(message);
      if (options.ordered === false) await options.handle(event);
      else await queue(`${event.kind}.${event.id}`, () => options.handle(event));
      message.ack();
    } catch (thrown) {
      const error = toRollcallError(thrown);
      const next = afterFailure(error, message.info.deliveryCount);
      if (next.kind === 'bury') {
        await bury(message, error).catch(() => message.nak(next.orElseDelayMs));
        return;
      }
      logger.warn({ err: error, seq: message.seq, delayMs: next.delayMs }, 'event will be handled again');
      message.nak(next.delayMs);
    } finally {
      clearInterval(working);
    }
  }

  const messages = await consumer.consume({
    max_messages: 256,
    callback: (message) => {
      const work = handleMessage(message).finally(() => running.delete(work));
      running.add(work);
    },
  });
  return {
    async drain() {
      await messages.close();
      await Promise.allSettled(running);
    },
    running: () => running.size,
  };
}
