import { join } from 'node:path';
import { reapStale } from './process/child-process-stale.ts';
import { restoringDirectory } from './state/half-restored.ts';

/**
 * Ends what a killed run of the hub, of its control plane or of a restore left behind in a state directory that nobody uses.
 * @returns the names of the processes that were ended
 */
export async function endLeftovers(stateDir: string): Promise<string[]> {
  const places = [stateDir, join(stateDir, 'kubernetes'), join(stateDir, restoringDirectory)];
  return (await Promise.all(places.map(reapStale))).flat();
}
