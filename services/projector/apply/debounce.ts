import type { ClusterRecord } from '@rollcall/shared/events';
import { debouncePhaseOf } from '../desired/registration-phase.ts';
import type { ClusterTools } from './projection-context.ts';

/** Who is on the way in: a projection that waits for the next event of a burst is one write, not several. */
export interface Debounce {
  /** How long the projection may still wait for the next event; a phase that comes to an end starts the next one's time. */
  waitMs(record: ClusterRecord): number;
  forget(clusterId: string): void;
}

export function createDebounce({ debounceMs }: Pick<ClusterTools, 'debounceMs'>): Debounce {
  const debounce = new Map<string, { phase: string; sinceMs: number }>();
  return {
    waitMs(record) {
      const clusterId = record.aggregate.id;
      const phase = debouncePhaseOf(record);
      if (phase === 'settled') {
        debounce.delete(clusterId);
        return 0;
      }
      let start = debounce.get(clusterId);
      if (start?.phase !== phase) {
        start = { phase, sinceMs: performance.now() };
        debounce.set(clusterId, start);
      }
      return Math.max(0, start.sinceMs + debounceMs[phase] - performance.now());
    },
    forget: (clusterId) => void debounce.delete(clusterId),
  };
}
