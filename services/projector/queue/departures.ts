import type { StoredEvent } from '@rollcall/shared/events';

/** Which clusters are on their way out, by the events of this process's time. */
export interface Departures {
  /** @returns whether the event is about a cluster that leaves, or asks to */
  note(event: Pick<StoredEvent, 'kind' | 'type' | 'id' | 'definition' | 'timeMs'>): boolean;
}

/** Where another replica heard the end, nothing says that there was one: so long a leaving is shown like anything else. */
const longestMs = 10 * 60_000;
/** Of a registration that follows. */
const comesBack: ReadonlySet<string> = new Set(['requested', 'approved', 'admitted', 'joined']);

/** Ids, those that came first in front. */
function forgetBefore(ids: Map<string, number>, limitMs: number): void {
  for (const [id, sinceMs] of ids) {
    if (sinceMs >= limitMs) return;
    ids.delete(id);
  }
}

export function createDepartures(): Departures {
  /** Since when, in hub time. */
  const asking = new Map<string, number>();
  const leaving = new Map<string, number>();
  return {
    note({ kind, type, id, definition, timeMs }) {
      if (kind !== 'cluster') return false;
      for (const ids of [asking, leaving]) forgetBefore(ids, timeMs - longestMs);
      if (type === 'leave-requested') asking.set(id, timeMs);
      // Whatever it is, it is the answer.
      else if (definition.writer === 'approver') asking.delete(id);
      if (type === 'leaving') leaving.set(id, timeMs);
      // Its beginning may have been heard by another replica, and its end too.
      const isLeaving = type === 'left' || asking.has(id) || leaving.has(id);
      if (type !== 'left' && !comesBack.has(type)) return isLeaving;
      asking.delete(id);
      leaving.delete(id);
      return type === 'left';
    },
  };
}

/** Of a cluster that leaves five services tell within a second or two; each look is two reads of the bus, each status a write. */
export const nextDepartureWithinMs = 1000;

/** How long the projection of a leaving may wait for the next event about it; its end is shown at once. */
export function departureMayWaitMs({ type }: Pick<StoredEvent, 'type'>): number {
  return type === 'left' ? 0 : nextDepartureWithinMs;
}
