import type { EventRow } from '../../../rows/index.ts';

const isKept = ({ sequence }: EventRow): boolean => sequence !== undefined;

/** What is only heard has no place in a history, and is told apart by what it says. */
export const keyOfEvent = (event: EventRow): string =>
  isKept(event) ? `${event.epoch}.${event.sequence}` : `${event.type} ${event.id} ${event.atMs}`;

/** The heartbeat service says a transition as soon as it is written, and what is written comes by another way. */
const keptWithinMs = 10_000;
/** Each replica of it says what it hears. */
const saidWithinMs = 500;

/** `cluster.suspect` was heard as `live.suspect`. */
const transitionOf = ({ id, type }: EventRow) => `${id} ${type.slice(type.indexOf('.') + 1)}`;

/** Which cluster became what, by those who said so. */
function createTold(withinMs: number) {
  const told = new Map<string, number>();
  return {
    note: (event: EventRow) => void told.set(transitionOf(event), event.atMs),
    has: (event: EventRow) => Math.abs((told.get(transitionOf(event)) ?? -Infinity) - event.atMs) < withinMs,
  };
}

/** @returns whether an event is of a history that was put back to before it, as an event of a later epoch in its place shows */
function lostAmong(events: readonly EventRow[]): (event: EventRow) => boolean {
  const firstOf = new Map<number, number>();
  for (const { epoch = 0, sequence = Infinity } of events)
    firstOf.set(epoch, Math.min(sequence, firstOf.get(epoch) ?? Infinity));
  const epochs = [...firstOf];
  return ({ epoch: own = 0, sequence = -1 }) =>
    epochs.some(([epoch, first]) => epoch > own && first <= sequence);
}

/**
 * Adds events to a list that begins with the newest. One that is there already comes once, and so does a transition that several said,
 * or that was heard as well as kept. What a restore took back goes when the first events after it come.
 */
export function newestFirst(
  before: readonly EventRow[],
  added: readonly EventRow[],
  most: number,
): readonly EventRow[] {
  const known = new Set(before.map(keyOfEvent));
  if (added.every((event) => known.has(keyOfEvent(event)))) return before;
  const all = new Map([...before.toReversed(), ...added].map((event) => [keyOfEvent(event), event]));
  const isLost = lostAmong([...all.values()]);
  const [kept, heard] = [createTold(keptWithinMs), createTold(saidWithinMs)];
  for (const event of all.values()) if (isKept(event)) kept.note(event);
  const shown: EventRow[] = [];
  for (const event of all.values()) {
    if (isKept(event) ? isLost(event) : kept.has(event) || heard.has(event)) continue;
    if (!isKept(event)) heard.note(event);
    shown.push(event);
  }
  return shown.toReversed().slice(0, most);
}
