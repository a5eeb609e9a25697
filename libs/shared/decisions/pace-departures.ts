import type { Arrivals } from './arrivals.ts';
import { inBatches } from './in-batches.ts';

/**
 * Deleted clusters that are decided about at a time, and once a second while others join. Each is some twenty messages, the cut of
 * its key and the return of its agent, and each batch looks at the admission policies once or twice.
 */
export const departuresAtOnce = 2;
const everyMs = 1000;

/** @returns resolves when the next of those who leave may be decided about: at once while nobody joins */
export function createDepartureTurn(arrivals: Pick<Arrivals, 'areUnderWay'>): () => Promise<void> {
  return inBatches(() => (arrivals.areUnderWay() ? everyMs : 0));
}
