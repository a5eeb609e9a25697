import type { EventLog } from '@rollcall/shared/bus';
import { decideAndAppend } from '@rollcall/shared/decisions';
import { createEventId, isNewer, type Outage, outage, type StoredEvent } from '@rollcall/shared/events';
import { decideOutage, outageAggregate, type OutageFinding } from './outage-event.ts';
import type { OutageGroup } from './outage-watch.ts';

/** Writes the beginning or end of an outage, unless another replica has. */
export async function writeOutage(log: EventLog, finding: OutageFinding): Promise<void> {
  await decideAndAppend(
    log,
    {
      gather: () => log.read(outageAggregate(finding.group)),
      decide: (record) => decideOutage(record, finding),
    },
    { correlation: createEventId(finding.nowMs) },
  );
}

/** The outages that were declared before this start and have not ended: their groups, undefined for the whole fleet. */
export async function readOutages(log: Pick<EventLog, 'readAll'>): Promise<(OutageGroup | undefined)[]> {
  const newest = new Map<string, StoredEvent>();
  for (const type of ['outage', 'outage-ended'])
    for (const event of await log.readAll(`hub.*.${type}`)) {
      const known = newest.get(event.id);
      if (!known || isNewer(event, known)) newest.set(event.id, event);
    }
  return [...newest.values()]
    .filter((event) => event.type === outage.type)
    .map((event) => (event.section as Outage).group);
}
