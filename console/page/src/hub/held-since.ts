import type { EventRow } from '../../../rows/index.ts';

/**
 * Since when each operation of the list waits: one event for each of them, since the last list was confirmed.
 * @param events - the newest first; more may have happened than the page holds
 * @param count - of operations in the list, in the order in which they came
 * @returns in that order; undefined where the events are not those of the list
 */
export function heldSince(
  events: readonly Pick<EventRow, 'type' | 'atMs'>[],
  count: number,
): readonly number[] | undefined {
  const confirmed = events.findIndex(({ type }) => type === 'hub.bulk-confirmed');
  const held = events
    .slice(0, confirmed === -1 ? events.length : confirmed)
    .filter(({ type }) => type === 'hub.bulk-held');
  return held.length === count ? held.map(({ atMs }) => atMs).toReversed() : undefined;
}
