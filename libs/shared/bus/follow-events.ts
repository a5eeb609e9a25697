import type { NatsConnection } from '@nats-io/transport-node';
import type { StoredEvent } from '@rollcall/shared/events';
import type { EventLog, OnSkip } from './event-log.ts';
import { streamState } from './whole-stream.ts';

/** How long a wake-up that got lost on the way can delay an event. */
const backstopMs = 1000;

export interface FollowOptions {
  /** Default: all events. */
  readonly filter?: string;
  readonly fromSequence: number;
  readonly signal: AbortSignal;
  /** Is given what cannot be decoded, once. */
  readonly onSkip?: OnSkip;
  /**
   * Asked when the bus does not answer: waits for as long as nobody should try again, or throws, which ends the events. Without
   * it the first such error does.
   * @param awayMs - since the first of these errors in a row
   */
  onAway?(error: unknown, awayMs: number): Promise<void>;
  /** Where the history ends, when it is shorter than before the bus was away: the hub was restored, and what is new follows. */
  onRestored?(lastSequence: number): void;
}

/**
 * Events from a sequence on, and then every new one, until the signal.
 *
 * A published message is heard by subscribers even when the stream then refuses it (another writer was faster). So what is
 * heard only wakes the reader up; what is given comes from the stream.
 * @throws RollcallError BUS_UNREACHABLE, unless `onAway` goes on
 */
export async function* followEvents(
  nc: NatsConnection,
  log: EventLog,
  options: FollowOptions,
): AsyncIterable<StoredEvent> {
  const { filter = '>', signal, onAway, onRestored } = options;
  let woken = Promise.withResolvers<void>();
  const wake = () => woken.resolve();
  const subscription = nc.subscribe(`rollcall.events.${filter}`, { callback: wake });
  const backstop = setInterval(wake, backstopMs);
  signal.addEventListener('abort', wake, { once: true });
  let next = options.fromSequence;
  let awaySinceMs: number | undefined;
  const onSkip: OnSkip = (error, event) => {
    next = event.sequence + 1;
    options.onSkip?.(error, event);
  };

  async function comeBack(): Promise<void> {
    const { lastSequence } = await streamState(nc, 'EVENTS');
    if (lastSequence + 1 < next) {
      next = lastSequence + 1;
      onRestored?.(lastSequence);
    }
    awaySinceMs = undefined;
  }

  try {
    while (!signal.aborted && !nc.isClosed()) {
      try {
        if (awaySinceMs !== undefined) await comeBack();
        for await (const event of log.scan({ filter, fromSequence: next, onSkip })) {
          next = event.sequence + 1;
          yield event;
          if (signal.aborted) return;
        }
      } catch (error) {
        if (!onAway || nc.isClosed()) throw error;
        awaySinceMs ??= performance.now();
        await onAway(error, performance.now() - awaySinceMs);
        continue;
      }
      await woken.promise;
      woken = Promise.withResolvers<void>();
    }
  } finally {
    clearInterval(backstop);
    subscription.unsubscribe();
  }
}
