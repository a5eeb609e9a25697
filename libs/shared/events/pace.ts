import type { Paced } from './heartbeat-events.ts';
import type { AggregateRecord } from './record.ts';
import type { AggregateId } from './subjects.ts';

/** The aggregate whose history is how much the intervals of the fleet are stretched. */
export const paceAggregate: AggregateId = { kind: 'hub', id: 'pace' };

/** How much longer than its own interval each agent waits between two beats; 1 while nothing was ever said. */
export function stretchOf({ lastOf }: AggregateRecord): number {
  return (lastOf.heartbeat?.section as Paced | undefined)?.stretch ?? 1;
}
