import type { StoredEvent } from '@rollcall/shared/events';

/** Which clusters are on their way out, by the events of this process's time. */
export interface Departures {
  /** @returns whether the event is about a cluster that leaves, or asks to */
  note(event: Pick<StoredEvent, 'kind' | 'type' | 'id' | 'definition'>): boolean;
}

export function createDepartures(): Departures {
  const asking = new Set<string>();
  const leaving = new Set<string>();
  return {
    note({ kind, type, id, definition }) {
      if (kind !== 'cluster') return false;
      if (type === 'leave-requested') asking.add(id);
      // Whatever it is, it is the answer.
      else if (definition.writer === 'approver') asking.delete(id);
      if (type === 'leaving') leaving.add(id);
      // Its beginning may have been heard by another replica.
      const isLeaving = type === 'left' || asking.has(id) || leaving.has(id);
      // What follows `left` is of its next registration.
      if (type === 'left' || type === 'requested') {
        asking.delete(id);
        leaving.delete(id);
      }
      return isLeaving && type !== 'requested';
    },
  };
}

/** Of a cluster that leaves five services tell within a second or two; each look is two reads of the bus, each status a write. */
export const nextDepartureWithinMs = 1000;

/** How long the projection of a leaving may wait for the next event about it; its end is shown at once. */
export function departureMayWaitMs({ type }: Pick<StoredEvent, 'type'>): number {
  return type === 'left' ? 0 : nextDepartureWithinMs;
}
