import type { EventLog } from '@rollcall/shared/bus';
import { RollcallError } from '@rollcall/shared/errors';
import type { Metrics } from './metrics.ts';

/** The same log, with what is written through it counted. */
export function countAppends(log: EventLog, metrics: Metrics): EventLog {
  return {
    ...log,
    async append(drafts, trace) {
      const startedMs = performance.now();
      try {
        await log.append(drafts, trace);
      } catch (error) {
        if (error instanceof RollcallError && error.code === 'APPEND_CONFLICT')
          metrics.count('rollcall_append_conflicts_total');
        throw error;
      }
      metrics.observe('rollcall_append_duration_seconds', (performance.now() - startedMs) / 1000);
      for (const { definition } of drafts) {
        metrics.count('rollcall_events_written_total', { type: `${definition.kind}.${definition.type}` });
      }
    },
  };
}
