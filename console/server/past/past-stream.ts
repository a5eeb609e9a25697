import { EventEmitter, once } from 'node:events';
import { RollcallError, toRollcallError } from '@rollcall/shared/errors';
import type { PastFleet } from '@rollcall/shared/fleet/past-fleet';
import type { PastMessage } from '../../rows/index.ts';
import type { LatestOnly } from '../latest-only.ts';
import { inParts } from '../live/in-parts.ts';

export interface PastReading {
  readonly atMs: number;
  readonly signal: AbortSignal;
  /** Is told of each event that counts. What it throws ends the reading. */
  onEvent(event: { readonly timeMs: number }, read: number): void;
}

/** Reads the whole fleet as it was. `notes` say what of the past is not in it. */
export type ReadPast = (reading: PastReading) => Promise<PastFleet & { readonly notes: readonly string[] }>;

/** A console that reads for longer than this helps nobody, and the command line has no such bound. */
export const mostEvents = 5_000_000;
/** Between two words of progress. */
const everyEvents = 20_000;

/**
 * Says how far the history is read, then the fleet of that moment in parts, as lines of JSON. The fleet is kept until it is sent, and no
 * longer than until the next question; with whoever goes away the reading ends.
 * @param how.latest - one reading at a time
 * @param how.most - events that may be read
 */
export function pastStream(
  readPast: ReadPast,
  { atMs, latest, most = mostEvents }: { atMs: number; latest: LatestOnly; most?: number },
): ReadableStream<Uint8Array> {
  const leaving = new AbortController();
  const pulls = new EventEmitter();
  const encoder = new TextEncoder();

  async function send(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    const say = (message: PastMessage): void => {
      if (!leaving.signal.aborted) controller.enqueue(encoder.encode(`${JSON.stringify(message)}\n`));
    };
    try {
      await latest(async (overtaken) => {
        const signal = AbortSignal.any([overtaken, leaving.signal]);
        const { clusters, policies, notes } = await readPast({
          atMs,
          signal,
          onEvent({ timeMs }, read) {
            signal.throwIfAborted();
            if (read > most) throw tooLong(atMs, most);
            if (read % everyEvents === 0) say({ kind: 'reading', events: read, upToMs: timeMs });
          },
        });
        for (const rows of inParts(clusters)) {
          while ((controller.desiredSize ?? 0) <= 0) await once(pulls, 'pull', { signal });
          signal.throwIfAborted();
          say({ kind: 'clusters', rows });
        }
        say({ kind: 'whole', policies, notes });
      });
    } catch (thrown) {
      const { code, message, hint } = toRollcallError(thrown);
      say({ kind: 'refused', refusal: { code, message, hint } });
    }
    if (!leaving.signal.aborted) controller.close();
  }

  return new ReadableStream({
    start: (controller) => void send(controller),
    pull: () => void pulls.emit('pull'),
    cancel: () => leaving.abort(),
  });
}

function tooLong(atMs: number, most: number): RollcallError {
  const at = new Date(atMs).toISOString();
  return new RollcallError(
    'USAGE',
    `more than ${most} events lead up to that moment; \`rollcall get clusters --at ${at}\` reads however many there are`,
  );
}
