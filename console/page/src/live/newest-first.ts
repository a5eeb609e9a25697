import type { EventRow } from '../../../rows/index.ts';

/** What is only heard has no sequence, and is told apart by what it says. */
export const keyOfEvent = (event: EventRow): string =>
  event.sequence === undefined ? `${event.type} ${event.id} ${event.atMs}` : String(event.sequence);

/** Adds events to a list that begins with the newest; one that is there already comes once. */
export function newestFirst(
  before: readonly EventRow[],
  added: readonly EventRow[],
  most: number,
): readonly EventRow[] {
  const known = new Set(before.map(keyOfEvent));
  const unknown = added.filter((event) => !known.has(keyOfEvent(event)));
  if (unknown.length === 0) return before;
  return [...unknown.toReversed(), ...before].slice(0, most);
}
