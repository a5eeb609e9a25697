import { readEpoch } from '@rollcall/shared/bus';
import { type Arrivals, consumeEvents, type Consumption } from '@rollcall/shared/decisions';
import { RollcallError } from '@rollcall/shared/errors';
import type { ServiceContext } from '@rollcall/shared/service';
import { keyOfEvent, mayWaitMs } from '../apply/event-keys.ts';
import type { Projection } from '../apply/projection.ts';
import type { ProjectorConfig } from '../config.ts';
import { createDepartures, departureMayWaitMs } from '../queue/departures.ts';

/**
 * What happens is followed, beginning with what happened meanwhile.
 * @throws RollcallError RESTORE_UNREVIEWED
 */
export async function followEvents(
  { nc, log, logger, metrics }: ServiceContext,
  { queue }: Projection,
  { joinDebounceMs, arrivals }: Pick<ProjectorConfig, 'joinDebounceMs'> & { readonly arrivals: Arrivals },
): Promise<Consumption> {
  if (!(await readEpoch(log)).isReviewed) {
    // What it shows of the epoch before is all that is left of it.
    throw new RollcallError(
      'RESTORE_UNREVIEWED',
      'the approver has not looked yet at what Kubernetes showed before',
    );
  }
  const departures = createDepartures();
  return consumeEvents(nc, {
    service: 'projector',
    logger,
    metrics,
    arrivals,
    // Bursts of one object are one write, so its events must not wait for one another.
    ordered: false,
    handle: async (event) => {
      const key = keyOfEvent(event);
      if (key === undefined) return;
      // Not awaited, or a mass of them would take all places of the consumer: a projector that stops before compares everything when
      // it starts.
      if (departures.note(event)) {
        const withinMs = departureMayWaitMs(event);
        return queue.mark(key, 'departure', { withinMs, atMs: event.timeMs });
      }
      await queue.project(key, { withinMs: mayWaitMs(event, joinDebounceMs), atMs: event.timeMs });
    },
  });
}
