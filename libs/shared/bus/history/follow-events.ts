import type { Msg, NatsConnection } from '@nats-io/transport-node';
import type { StoredEvent } from '@rollcall/shared/events';
import type { EventLog, OnSkip } from '../event-log.ts';
import { onReconnect } from '../reads/on-reconnect.ts';
import { streamState } from '../reads/whole-stream.ts';
import { epochsAfter } from './epochs-after.ts';

/** How long an event that got lost on the way to this process can be late; the server sends each once. */
const lookAgainMs = 10_000;
/** Heard while the history is read; of more, the rest is read from the stream as well. */
const mostHeard = 10_000;

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
  /** Up to which event the history is what it was, where the hub was restored while the bus was away: what is new follows. */
  onRestored?(lastSequence: number): void;
}

/**
 * Events from a sequence on, and then every new one, until the signal. The stream publishes what it has stored, so what is heard
 * is given as it is; the stream is read for what is older, after a reconnect, and every 10 s for what was lost on the way, which
 * then comes late.
 * @throws RollcallError BUS_UNREACHABLE, unless `onAway` goes on
 */
export async function* followEvents(
  nc: NatsConnection,
  log: EventLog,
  options: FollowOptions,
): AsyncIterable<StoredEvent> {
  const { filter = '>', signal, onAway, onRestored } = options;
  let woken = Promise.withResolvers<void>();
  let mustRead = true;
  let heard: Msg[] = [];
  const wake = () => woken.resolve();
  const readAgain = () => {
    mustRead = true;
    wake();
  };
  const subscription = nc.subscribe(`rollcall.stored.${filter}`, {
    callback(error, message) {
      if (error) return;
      if (heard.length < mostHeard) heard.push(message);
      else mustRead = true;
      wake();
    },
  });
  const lookingAgain = setInterval(readAgain, lookAgainMs);
  signal.addEventListener('abort', wake, { once: true });
  /** Everything before was read from the stream; what was heard may have gaps, as a server that dies tells no more of what it stored. */
  let next = options.fromSequence;
  /** Heard, and given already. */
  const given = new Set<number>();
  /** The latest of what was given; 0: nothing was. */
  let epoch = 0;
  let awaySinceMs: number | undefined;
  const isNew = (sequence: number) => sequence >= next && !given.has(sequence);
  const onSkip: OnSkip = (error, event) => {
    if (isNew(event.sequence)) options.onSkip?.(error, event);
    given.add(event.sequence);
  };

  async function comeBack(): Promise<void> {
    const { lastSequence } = await streamState(nc, 'EVENTS');
    const { from } = await epochsAfter(log, epoch || Infinity);
    const first = Math.min(from, lastSequence + 1);
    if (first < next) {
      next = first;
      given.clear();
      onRestored?.(first - 1);
    }
    awaySinceMs = undefined;
  }
  using _ = onReconnect(nc, readAgain);

  try {
    while (!signal.aborted && !nc.isClosed()) {
      try {
        if (awaySinceMs !== undefined) await comeBack();
        if (mustRead) {
          mustRead = false;
          for await (const event of log.scan({ filter, fromSequence: next, onSkip })) {
            const wasGiven = !isNew(event.sequence);
            next = event.sequence + 1;
            if (wasGiven) continue;
            epoch = Math.max(epoch, event.epoch);
            yield event;
            if (signal.aborted) return;
          }
          for (const sequence of given) if (sequence < next) given.delete(sequence);
        }
      } catch (error) {
        mustRead = true;
        if (!onAway || nc.isClosed()) throw error;
        awaySinceMs ??= performance.now();
        await onAway(error, performance.now() - awaySinceMs);
        continue;
      }
      const messages = heard;
      heard = [];
      for (const message of messages) {
        const one = log.heard(message);
        const event = one && isNew(one.sequence) ? one.decode(onSkip) : undefined;
        if (!event) continue;
        given.add(event.sequence);
        epoch = Math.max(epoch, event.epoch);
        yield event;
        if (signal.aborted) return;
      }
      if (mustRead || heard.length > 0) continue;
      await woken.promise;
      woken = Promise.withResolvers<void>();
    }
  } finally {
    clearInterval(lookingAgain);
    subscription.unsubscribe();
  }
}
