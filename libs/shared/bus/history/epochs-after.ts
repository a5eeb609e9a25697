import { epochAggregate, restored } from '@rollcall/shared/events';
import type { EventLog } from '../event-log.ts';

const { kind, id } = epochAggregate;
const filter = `${kind}.${id}.${restored.type}`;

/**
 * For who knows the history as it was in an epoch: a hub that was restored meanwhile may have written more since than was taken back,
 * and then its length does not show it.
 * @returns the epoch that the hub is in, and the first event of a later one than `known`; Infinity: there is none
 * @throws RollcallError BUS_UNREACHABLE
 */
export async function epochsAfter(
  log: Pick<EventLog, 'scan'>,
  known: number,
): Promise<{ epoch: number; from: number }> {
  // The first one has no event.
  const found = { epoch: 1, from: Infinity };
  for await (const { epoch, sequence } of log.scan({ filter, onSkip: () => undefined })) {
    found.epoch = Math.max(found.epoch, epoch);
    if (epoch > known) found.from = Math.min(found.from, sequence);
  }
  return found;
}
