import type { HeldEvents } from '@rollcall/shared/bus';
import { RollcallError, toRollcallError } from '@rollcall/shared/errors';
import { decodeEvent, type StoredEvent } from '@rollcall/shared/events';
import type { Logger } from '@rollcall/shared/service';
import { afterFailure } from './after-failure.ts';

/** How often a replica looks for what an older one has put aside during a rolling upgrade. */
const lookIntervalMs = 60_000;
/** Of an event, for people. */
export const longestBody = 65_536;

/** As if it had been tried often: nothing waits behind a held event but what is held of the same aggregate. */
const isHopeless = (error: RollcallError) =>
  afterFailure(error, { deliveries: 1, alike: Number.MAX_SAFE_INTEGER }).kind === 'dead-letter';

/**
 * Takes up what was put aside because a newer Rollcall wrote it, or because a person wants it tried again (`dead retry`): at the
 * start, and every minute while other replicas may still be of an older version. What this version does not know stays for a
 * later one and is not looked at again; what it cannot handle is a dead letter again.
 * @returns stops it, after what is being handled
 */
export function handleHeld(
  held: HeldEvents,
  options: {
    service: string;
    handle(event: StoredEvent): Promise<void>;
    logger: Logger;
    /** Called for each dead letter. */
    onDead(error: RollcallError): void;
  },
): () => Promise<void> {
  const { service, handle, logger, onDead } = options;
  let lookedAt = 0;
  let isStopping = false;

  /**
   * @param waiting - aggregates of which an earlier event waits
   * @returns false: try this one again later
   */
  async function takeUp(sequence: number, waiting: Set<string>): Promise<boolean> {
    const message = await held.eventAt(sequence);
    if (!message) return true;
    let aggregate: string | undefined;
    try {
      const event = decodeEvent(message);
      aggregate = `${event.kind}/${event.id}`;
      if (waiting.has(aggregate)) return false;
      await handle(event);
    } catch (thrown) {
      const error = toRollcallError(thrown);
      if (error.code === 'EVENT_VERSION_UNKNOWN') return true;
      if (isHopeless(error)) {
        const { code, message: why } = error;
        const body = new TextDecoder().decode(message.data).slice(0, longestBody);
        const { subject } = message;
        await held.moveToDead({ service, subject, sequence, code, message: why, deliveries: 1, body });
        logger.error({ err: error, seq: sequence }, 'held event moved to the dead letters');
        onDead(error);
        return true;
      }
      logger.warn({ err: error, seq: sequence }, 'held event could not be handled yet');
      if (aggregate !== undefined) waiting.add(aggregate);
      return false;
    }
    await held.done(sequence);
    logger.info({ seq: sequence }, 'held event was handled');
    return true;
  }

  async function look(): Promise<void> {
    const waiting = new Set<string>();
    let isEachDone = true;
    for (let after = lookedAt; ;) {
      const notes = await held.after(after);
      if (notes.length === 0) return;
      for (const { sequence, id } of notes) {
        if (isStopping) return;
        after = id;
        // One that waits is looked at again, and so is what comes after it.
        isEachDone = (await takeUp(sequence, waiting)) && isEachDone;
        if (isEachDone) lookedAt = id;
      }
    }
  }

  async function lookSafely(): Promise<void> {
    try {
      await look();
    } catch (thrown) {
      // No stream DEAD, no bus: the events are where they were.
      if (thrown instanceof RollcallError) logger.debug({ err: thrown }, 'held events could not be read');
      else logger.warn({ err: toRollcallError(thrown) }, 'held events could not be read');
    }
  }

  let looking = lookSafely();
  const timer = setInterval(() => {
    looking = looking.then(lookSafely);
  }, lookIntervalMs);
  timer.unref();
  return async () => {
    isStopping = true;
    clearInterval(timer);
    await looking;
  };
}
