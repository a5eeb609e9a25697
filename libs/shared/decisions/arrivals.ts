import type { StoredEvent } from '@rollcall/shared/events';

/** Whether clusters are on the way in, by the events that a process hears. */
export interface Arrivals {
  note(event: Pick<StoredEvent, 'kind' | 'type'>): void;
  areUnderWay(): boolean;
}

/** Each service hears one of these of a cluster that comes. */
const ofArrivals: ReadonlySet<string> = new Set(['requested', 'approved']);
/** From being asked for to being approved, and from there to Ready, it is less; whoever has one cluster join has most likely more. */
const underWayForMs = 2000;

/** @param nowMs - of a clock that never goes back */
export function createArrivals(nowMs: () => number = () => performance.now()): Arrivals {
  let lastAtMs = Number.NEGATIVE_INFINITY;
  return {
    note({ kind, type }) {
      if (kind === 'cluster' && ofArrivals.has(type)) lastAtMs = nowMs();
    },
    areUnderWay: () => nowMs() - lastAtMs < underWayForMs,
  };
}
