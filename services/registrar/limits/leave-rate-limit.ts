import { type Arrivals, yielding } from '@rollcall/shared/decisions';

/**
 * Requests to leave that are answered at a time, and a second while others join. The stream writes one append after the other, each to the
 * disk: joins would wait behind as many as come.
 */
const leaves = { atOnce: 32, perSecond: 5, burst: 10 } as const;

/** Does the work of a request to leave at once, or when its turn comes. */
export type LeaveTurn = ReturnType<typeof yielding>;

export function createLeaveTurn(arrivals: Pick<Arrivals, 'areUnderWay'>): LeaveTurn {
  return yielding({ ...leaves, mustYield: () => arrivals.areUnderWay() });
}
