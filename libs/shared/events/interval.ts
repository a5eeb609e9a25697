import type { IntervalChanged } from './types/heartbeat-events.ts';
import type { AggregateRecord } from './records/fold-record.ts';
import type { AggregateId } from './event-subjects.ts';

/** The aggregate whose history is how often the fleet sends heartbeats, and how slowly it returns. */
export const intervalAggregate: AggregateId = { kind: 'hub', id: 'interval' };

/** What was last said of the interval of the fleet; undefined while nothing was. */
export function intervalOf({ lastOf }: AggregateRecord): IntervalChanged | undefined {
  return lastOf.heartbeat?.section as IntervalChanged | undefined;
}

/** How much longer than its own interval each agent waits between two heartbeats; 1 while nothing was ever said. */
export function multiplierOf(record: AggregateRecord): number {
  return intervalOf(record)?.multiplier ?? 1;
}
