import type { NatsConnection } from '@nats-io/transport-node';
import type { StoredEvent } from '@rollcall/shared/events';
import type { EventLog, OnSkip } from './event-log.ts';

/** How long a wake-up that got lost on the way can delay an event. */
const backstopMs = 1000;

/**
 * Events from a sequence on, and then every new one, until the signal.
 *
 * A published message is heard by subscribers even when the stream then refuses it (another writer was faster). So what is
 * heard only wakes the reader up; what is given comes from the stream.
 * @param options.onSkip - is given what cannot be decoded, once
 * @throws RollcallError BUS_UNREACHABLE
 */
export async function* followEvents(
  nc: NatsConnection,
  log: EventLog,
  options: { filter?: string; fromSequence: number; signal: AbortSignal; onSkip?: OnSkip },
): AsyncIterable<StoredEvent> {
  const { filter = '>', signal } = options;
  let woken = Promise.withResolvers<void>();
  const wake = () => woken.resolve();
  const subscription = nc.subscribe(`rollcall.events.${filter}`, { callback: wake });
  const backstop = setInterval(wake, backstopMs);
  signal.addEventListener('abort', wake, { once: true });
  let next = options.fromSequence;
  const onSkip: OnSkip = (error, event) => {
    next = event.sequence + 1;
    options.onSkip?.(error, event);
  };
  try {
    while (!signal.aborted && !nc.isClosed()) {
      for await (const event of log.scan({ filter, fromSequence: next, onSkip })) {
        next = event.sequence + 1;
        yield event;
        if (signal.aborted) return;
      }
      await woken.promise;
      woken = Promise.withResolvers<void>();
    }
  } finally {
    clearInterval(backstop);
    subscription.unsubscribe();
  }
}
