import type { HeldEvents } from '@rollcall/shared/bus';
import { RollcallError, toRollcallError } from '@rollcall/shared/errors';
import { decodeEvent, type StoredEvent } from '@rollcall/shared/events';
import type { Logger } from '@rollcall/shared/service';

/** How often a replica looks for what an older one has put aside during a rolling upgrade. */
const lookIntervalMs = 60_000;

/**
 * Takes up what was put aside because a newer Rollcall wrote it: at the start, and every minute while other replicas may
 * still be of an older version. What this version does not know stays for a later one and is not looked at again.
 * @returns stops it, after what is being handled
 */
export function handleHeld(
  held: HeldEvents,
  options: { handle(event: StoredEvent): Promise<unknown>; logger: Logger },
): () => Promise<void> {
  const { handle, logger } = options;
  let lookedAt = 0;
  let isStopping = false;

  /** @returns false: try this one again later */
  async function takeUp(sequence: number): Promise<boolean> {
    const message = await held.eventAt(sequence);
    if (!message) return true;
    try {
      const { subject, header, data } = message;
      const event = decodeEvent({ subject, sequence, header: (name) => header.get(name), data });
      // Whoever says when it wants to be called again is: with the next look.
      if ((await handle(event)) !== undefined) return false;
    } catch (thrown) {
      const error = toRollcallError(thrown);
      if (error.code === 'EVENT_VERSION_UNKNOWN') return true;
      logger.warn({ err: error, seq: sequence }, 'held event could not be handled yet');
      return false;
    }
    await held.done(sequence);
    logger.info({ seq: sequence }, 'held event was handled');
    return true;
  }

  async function look(): Promise<void> {
    for (;;) {
      const notes = await held.after(lookedAt);
      if (notes.length === 0) return;
      for (const { sequence, id } of notes) {
        if (isStopping || !(await takeUp(sequence))) return;
        lookedAt = id;
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
