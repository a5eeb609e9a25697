import type { StoredEvent } from '@rollcall/shared/events';

/** Which clusters are on their way out, by the events of this process's time. */
export interface Departures {
  /** @returns whether the event is about a cluster that leaves */
  note(event: Pick<StoredEvent, 'kind' | 'type' | 'id'>): boolean;
}

export function createDepartures(): Departures {
  const leaving = new Set<string>();
  return {
    note({ kind, type, id }) {
      if (kind !== 'cluster') return false;
      if (type === 'leaving') leaving.add(id);
      const isLeaving = leaving.has(id);
      // What follows `left` is of its next registration.
      if (type === 'left' || type === 'requested') leaving.delete(id);
      return isLeaving && type !== 'requested';
    },
  };
}

/** Of a cluster that leaves five services tell within seconds. */
const nextDepartureWithinMs = 1000;

/** How long the projection of a leaving may wait for the next event about it; its beginning and its end are shown at once. */
export function departureMayWaitMs({ type }: Pick<StoredEvent, 'type'>): number {
  return type === 'leaving' || type === 'left' ? 0 : nextDepartureWithinMs;
}
