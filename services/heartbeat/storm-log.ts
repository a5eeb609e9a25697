import type { EventLog } from '@rollcall/shared/bus';
import { decideAndAppend } from '@rollcall/shared/decisions';
import { createEventId } from '@rollcall/shared/events';
import { decideStorm, isStormOpen, stormAggregate, type StormFinding } from './storm-event.ts';

/** Writes the beginning or end of a storm, unless another replica has. */
export async function writeStorm(log: EventLog, finding: StormFinding): Promise<void> {
  await decideAndAppend(
    log,
    { gather: () => log.read(stormAggregate), decide: (record) => decideStorm(record, finding) },
    { correlation: createEventId(finding.nowMs) },
  );
}

/** Whether a storm was declared before this start and has not ended. */
export async function readStorm(log: Pick<EventLog, 'read'>): Promise<boolean> {
  return isStormOpen(await log.read(stormAggregate));
}
