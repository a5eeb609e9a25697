import type { EventLog } from '@rollcall/shared/bus';
import { decideAndAppend } from '@rollcall/shared/decisions';
import { createEventId, isNewer, type Storm, storm, type StoredEvent } from '@rollcall/shared/events';
import { decideStorm, stormAggregate, type StormFinding } from './storm-event.ts';
import type { StormGroup } from './storm-watch.ts';

/** Writes the beginning or end of a storm, unless another replica has. */
export async function writeStorm(log: EventLog, finding: StormFinding): Promise<void> {
  await decideAndAppend(
    log,
    {
      gather: () => log.read(stormAggregate(finding.group)),
      decide: (record) => decideStorm(record, finding),
    },
    { correlation: createEventId(finding.nowMs) },
  );
}

/** The storms that were declared before this start and have not ended: their groups, undefined for the whole fleet. */
export async function readStorms(log: Pick<EventLog, 'readAll'>): Promise<(StormGroup | undefined)[]> {
  const newest = new Map<string, StoredEvent>();
  for (const type of ['storm', 'storm-ended'])
    for (const event of await log.readAll(`hub.*.${type}`)) {
      const known = newest.get(event.id);
      if (!known || isNewer(event, known)) newest.set(event.id, event);
    }
  return [...newest.values()]
    .filter((event) => event.type === storm.type)
    .map((event) => (event.section as Storm).group);
}
