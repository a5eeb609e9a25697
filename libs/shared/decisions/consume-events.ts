import { setTimeout as delay } from 'node:timers/promises';
import { type ConsumerMessages, jetstream, type JsMsg } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import { hubStreams, openHeldEvents, seenOver } from '@rollcall/shared/bus';
import { type RollcallError, toRollcallError } from '@rollcall/shared/errors';
import { decodeEvent, type StoredEvent } from '@rollcall/shared/events';
import { consumersOf, type ConsumingService, type ServiceConsumer } from '@rollcall/shared/rights';
import type { Logger, Metrics } from '@rollcall/shared/service';
import { inSpan } from '@rollcall/shared/tracing';
import { afterFailure } from './after-failure.ts';
import { type Arrivals, createArrivals } from './arrivals.ts';
import { countFailures } from './count-failures.ts';
import { handleHeld, longestBody } from './handle-held.ts';
import { createKeyedQueue } from './keyed-queue.ts';
import { yielding } from './yielding.ts';

const stream = 'EVENTS';
/** Half of the consumer's ack_wait: a slow handler is not mistaken for a dead one. */
const workingIntervalMs = 15_000;
/**
 * A server that is back but whose JetStream is not yet lets the first pull come too early; missed heartbeats are what
 * makes the library pull again. With its own default that takes half a minute.
 */
const pull = { max_messages: 256, expires: 10_000, idle_heartbeat: 1000, bind: true } as const;
const consumeAgainAfterMs = 1000;
/**
 * Departures that a process handles at a time, and of each type while clusters join: ten thousand may leave at once, and what is
 * left of one costs the API server ten times what a join does, most of it to empty the namespace.
 */
const departures = { atOnce: 4, perSecond: 0.5, burst: 3 } as const;

export interface ConsumeOptions {
  readonly service: ConsumingService;
  readonly logger: Logger;
  /** Of a service; a test may do without. */
  readonly metrics?: Metrics;
  /**
   * Level-based: it looks at the record, so that redelivery and reordering change nothing. Returns or
   * throws. What is to be done later is put aside: each event that is not acknowledged takes one of the consumer's places.
   */
  handle(event: StoredEvent): Promise<void>;
  /** false: events of one aggregate are handled at the same time, for a handler that puts bursts together by itself. */
  readonly ordered?: boolean;
  onDead?(error: RollcallError): void;
  /** Told of all that is heard. Default: its own. */
  readonly arrivals?: Arrivals;
  /** Departures of each type that it handles a second while clusters join. Default: 0.5. */
  readonly departuresPerSecond?: number;
}

/** Does work at once, or when its turn comes. */
type InTurn = (work: () => Promise<void>) => Promise<void>;

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
 * the durable consumers; events of one aggregate are handled one after another within a process. What happens when clusters leave
 * comes by a consumer of its own, is handled a few at a time, and slowly while others join: a mass of it takes nobody else's turn.
 */
export async function consumeEvents(nc: NatsConnection, options: ConsumeOptions): Promise<Consumption> {
  const { service, logger } = options;
  const js = jetstream(nc, hubStreams);
  const held = openHeldEvents(nc, service);
  const queue = createKeyedQueue();
  const seen = seenOver(nc);
  const running = new Set<Promise<void>>();
  const failures = countFailures();
  const arrivals = options.arrivals ?? createArrivals();

  function countDelivery(message: JsMsg, outcome: 'done' | 'again' | 'dead' | 'held'): void {
    const [, , kind = '', , type = ''] = message.subject.split('.');
    options.metrics?.count('rollcall_events_handled_total', { type: `${kind}.${type}`, outcome });
  }

  function acknowledge(message: JsMsg): void {
    message.ack();
    countDelivery(message, 'done');
  }

  async function moveToDead(message: JsMsg, error: RollcallError): Promise<void> {
    // First the copy, then the end: after term() the message can no longer be found by its delivery.
    await js.publish(
      `rollcall.dead.${service}.${message.seq}`,
      JSON.stringify({
        service,
        subject: message.subject,
        sequence: message.seq,
        code: error.code,
        message: error.message,
        deliveries: message.info.deliveryCount,
        body: message.string().slice(0, longestBody),
      }),
    );
    message.term(error.code);
    logger.error(
      { err: error, seq: message.seq, subject: message.subject },
      'event moved to the dead letters',
    );
    countDelivery(message, 'dead');
    noteDead(error);
  }

  function noteDead(error: RollcallError): void {
    options.metrics?.count('rollcall_dead_letters_total');
    options.onDead?.(error);
  }

  /** The place in the queue is given back: a thousand of them would else stop the consumer. */
  async function hold(message: JsMsg, { code, message: why }: RollcallError): Promise<void> {
    const { subject, seq: sequence, info } = message;
    await held.put({ service, subject, sequence, code, message: why, deliveries: info.deliveryCount });
    message.ack();
    logger.error({ seq: sequence, subject, reason: code }, 'event is held for a newer version');
    countDelivery(message, 'held');
  }

  async function afterThrow(message: JsMsg, thrown: unknown): Promise<void> {
    const error = toRollcallError(thrown);
    const next = afterFailure(error, {
      deliveries: message.info.deliveryCount,
      alike: failures.count(message.seq, error.code),
    });
    if (next.kind === 'again') {
      logger.warn({ err: error, seq: message.seq, delayMs: next.delayMs }, 'event will be handled again');
      message.nak(next.delayMs);
      countDelivery(message, 'again');
      return;
    }
    try {
      await (next.kind === 'hold' ? hold(message, error) : moveToDead(message, error));
      failures.forget(message.seq);
    } catch (cause) {
      logger.warn({ err: toRollcallError(cause), seq: message.seq }, 'event could not be put aside yet');
      message.nak(next.orElseDelayMs);
    }
  }

  async function handleMessage(message: JsMsg): Promise<void> {
    const event = decodeMessage(message);
    // What woke us must be in what is read now, whichever server answers.
    seen.note(event, event.sequence);
    arrivals.note(event);
    return handleEvent(event);
  }

  async function handleEvent(event: StoredEvent): Promise<void> {
    if (options.ordered === false) return handleTraced(event);
    return queue(`${event.kind}.${event.id}`, () => handleTraced(event));
  }

  /** Whatever the handler publishes carries the trace on, as the child of this step. */
  function handleTraced(event: StoredEvent): Promise<void> {
    const { kind, id, type, sequence, correlation } = event;
    const step = {
      name: `${service} ${kind}.${type}`,
      kind: 'consumer',
      traceparent: event.traceparent,
      attributes: {
        'rollcall.service': service,
        'rollcall.event.type': `${kind}.${type}`,
        'rollcall.event.id': id,
        'rollcall.event.sequence': sequence,
        'rollcall.correlation': correlation,
      },
    } as const;
    return inSpan(step, (traceparent) => options.handle({ ...event, traceparent }));
  }

  async function handleAndAcknowledge(message: JsMsg): Promise<void> {
    try {
      await handleMessage(message);
    } catch (thrown) {
      await afterThrow(message, thrown);
      return;
    }
    failures.forget(message.seq);
    acknowledge(message);
  }

  /** Never rejects: on a closed connection even saying so is impossible, and the event is delivered again by itself. */
  async function settle(message: JsMsg, inTurn: InTurn): Promise<void> {
    const working = setInterval(() => {
      if (!nc.isClosed()) message.working();
    }, workingIntervalMs);
    try {
      await inTurn(async () => {
        const startedMs = performance.now();
        await handleAndAcknowledge(message);
        const seconds = (performance.now() - startedMs) / 1000;
        options.metrics?.observe('rollcall_event_handling_duration_seconds', seconds);
      });
    } catch (thrown) {
      logger.warn({ err: toRollcallError(thrown), seq: message.seq }, 'event could not be acknowledged');
    } finally {
      clearInterval(working);
    }
  }

  function take(message: JsMsg, inTurn: InTurn): void {
    const work = settle(message, inTurn).finally(() => running.delete(work));
    running.add(work);
  }

  let isDraining = false;
  const isOver = () => isDraining || nc.isDraining() || nc.isClosed();

  /** @returns what ends the consumption, once it has fetched its last event */
  async function consume({ name, isOfDepartures, filters }: ServiceConsumer): Promise<() => Promise<void>> {
    const consumer = await js.consumers.get(stream, name);
    const { atOnce, burst } = departures;
    const perSecond = options.departuresPerSecond ?? departures.perSecond;
    const each = filters.length;
    const inTurn: InTurn = isOfDepartures
      ? yielding({
          mustYield: arrivals.areUnderWay,
          atOnce,
          perSecond: perSecond * each,
          burst: burst * each,
        })
      : (work) => work();
    const start = (): Promise<ConsumerMessages> =>
      consumer.consume({ ...pull, callback: (message) => take(message, inTurn) });
    let messages = await start();

    /** The library ends a consumption for good at errors that it takes for final; a service goes on until it is told to stop. */
    async function consumeOn(): Promise<void> {
      for (;;) {
        const why = await messages.closed();
        if (isOver()) return;
        logger.error(
          { err: toRollcallError(why ?? 'no reason given') },
          'consumption ended and starts again',
        );
        await delay(consumeAgainAfterMs);
        if (isOver()) return;
        const ended = messages;
        messages = await start().catch(() => ended);
      }
    }
    const consuming = consumeOn();
    return async () => {
      await messages.close();
      await consuming;
    };
  }
  const ends = await Promise.all(consumersOf(service).map(consume));
  const stopHeld = handleHeld(held, { service, handle: handleEvent, logger, onDead: noteDead });

  return {
    async drain() {
      isDraining = true;
      await Promise.all(ends.map((end) => end()));
      await stopHeld();
      await Promise.allSettled(running);
    },
    running: () => running.size,
  };
}
