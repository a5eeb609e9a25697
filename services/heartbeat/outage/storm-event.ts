import { createHash } from 'node:crypto';
import {
  type AggregateId,
  type AggregateRecord,
  draft,
  type EventDraft,
  type Storm,
  storm,
  stormEnded,
} from '@rollcall/shared/events';
import type { StormChange, StormGroup } from './storm-watch.ts';

/** Whose history is the storms of the fleet, or of a group: names of servers and sets are hashed, because not all are safe ids. */
export function stormAggregate(group?: StormGroup): AggregateId {
  if (!group) return { kind: 'hub', id: 'liveness' };
  const name = createHash('sha256').update(group.name).digest('hex').slice(0, 16);
  return { kind: 'hub', id: `liveness-${group.kind}-${name}` };
}

/** Whether a storm is declared and not ended. */
function isStormOpen(record: AggregateRecord): boolean {
  return record.newest?.type === storm.type;
}

export interface StormFinding extends Omit<StormChange, 'isDeadline'> {
  readonly nowMs: number;
}

/** One event for each beginning and end, whichever replica notices first. */
export function decideStorm(record: AggregateRecord, finding: StormFinding): EventDraft[] {
  const { change, silent, known, group, nowMs } = finding;
  if (isStormOpen(record) === (change === 'begins')) return [];
  const section: Storm = { silent, known, sinceMs: nowMs, ...(group ? { group: { ...group } } : {}) };
  const by = { service: 'heartbeat' };
  const of = group ? ` of ${group.kind} "${group.name}"` : '';
  return change === 'begins'
    ? [
        draft(storm, record, {
          by,
          reason: 'StormHeld',
          message: `${silent} of ${known} clusters${of} went silent together; transitions are held`,
          section,
        }),
      ]
    : [
        draft(stormEnded, record, {
          by,
          reason: 'StormEnded',
          message: `${silent} of ${known} clusters${of} are still silent; held transitions are taken`,
          section,
        }),
      ];
}
