import type { EventRow } from '../../../rows/index.ts';

/** What is only heard has no sequence, and is told apart by what it says. */
export const keyOfEvent = (event: EventRow): string =>
  event.sequence === undefined ? `${event.type} ${event.id} ${event.atMs}` : String(event.sequence);

/** The heartbeat service says a transition as soon as it is written, and what is written comes by another way. */
const keptWithinMs = 10_000;

/** Of which cluster, and what became of it. */
const transitionOf = ({ id, type }: EventRow): string => `${id} ${type.slice(type.indexOf('.') + 1)}`;

/**
 * Adds events to a list that begins with the newest. One that is there already comes once, and so does a transition that was heard
 * as well as kept.
 */
export function newestFirst(
  before: readonly EventRow[],
  added: readonly EventRow[],
  most: number,
): readonly EventRow[] {
  const known = new Set(before.map(keyOfEvent));
  const unknown = added.filter((event) => !known.has(keyOfEvent(event)));
  if (unknown.length === 0) return before;
  const all = [...unknown.toReversed(), ...before];
  const keptAtMs = new Map<string, number>();
  for (const event of all.filter(({ sequence }) => sequence !== undefined))
    keptAtMs.set(transitionOf(event), keptAtMs.get(transitionOf(event)) ?? event.atMs);
  const isToldByAnother = (event: EventRow) =>
    event.sequence === undefined &&
    Math.abs((keptAtMs.get(transitionOf(event)) ?? -Infinity) - event.atMs) < keptWithinMs;
  return all.filter((event) => !isToldByAnother(event)).slice(0, most);
}
