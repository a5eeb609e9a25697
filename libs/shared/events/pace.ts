import type { Paced } from './types/heartbeat-events.ts';
import type { AggregateRecord } from './records/record.ts';
import type { AggregateId } from './subjects.ts';

/** The aggregate whose history is how the fleet is paced: how often it beats, and how slowly it returns. */
export const paceAggregate: AggregateId = { kind: 'hub', id: 'pace' };

/** What was last said of the pace of the fleet; undefined while nothing was. */
export function paceOf({ lastOf }: AggregateRecord): Paced | undefined {
  return lastOf.heartbeat?.section as Paced | undefined;
}

/** How much longer than its own interval each agent waits between two beats; 1 while nothing was ever said. */
export function stretchOf(record: AggregateRecord): number {
  return paceOf(record)?.stretch ?? 1;
}
