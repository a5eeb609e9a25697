import { setTimeout as delay } from 'node:timers/promises';
import { jetstream } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import { asBusError, hubStreams, streamState } from '@rollcall/shared/bus';
import { RollcallError } from '@rollcall/shared/errors';
import {
  consumedEvents,
  consumersOf,
  type ConsumingService,
  type ServiceName,
} from '@rollcall/shared/rights';

const againInMs = 1000;

/** How what is not there yet is waited for. */
export interface Waiting {
  /** Until when; without it nothing is waited for. */
  readonly until?: AbortSignal | undefined;
  /** Told at each try what is missing. */
  onMissing(why: RollcallError): void;
}

/**
 * Tries until the bus is there. What waiting does not mend (credentials, configuration) is thrown at once.
 * @throws RollcallError BUS_UNREACHABLE where nothing is waited for; AbortError; and whatever else the attempt throws
 */
export async function untilBusIsThere<Result>(
  attempt: () => Promise<Result>,
  { until, onMissing }: Waiting,
): Promise<Result> {
  for (;;) {
    try {
      return await attempt();
    } catch (thrown) {
      if (!until || !(thrown instanceof RollcallError) || thrown.code !== 'BUS_UNREACHABLE') throw thrown;
      onMissing(thrown);
      await delay(againInMs, undefined, { signal: until });
    }
  }
}

const missing = new Set(['StreamNotFoundError', 'ConsumerNotFoundError']);

const isConsuming = (name: ServiceName): name is ConsumingService => Object.hasOwn(consumedEvents, name);

/**
 * Sees that what this service reads from has been made; the consumers are the last of it.
 * @throws RollcallError BUS_UNREACHABLE
 */
export async function checkStreams(nc: NatsConnection, name: ServiceName): Promise<void> {
  try {
    const { consumers } = jetstream(nc, hubStreams);
    await (isConsuming(name)
      ? Promise.all(consumersOf(name).map((consumer) => consumers.get('EVENTS', consumer.name)))
      : streamState(nc, 'EVENTS'));
  } catch (cause) {
    if (!(cause instanceof Error) || !missing.has(cause.name)) throw asBusError(cause);
    const why = `the streams of the hub are not there yet (${cause.message}); \`rollcall serve streams\` makes them`;
    throw new RollcallError('BUS_UNREACHABLE', why, { cause });
  }
}
