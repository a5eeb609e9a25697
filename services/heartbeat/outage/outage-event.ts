import { createHash } from 'node:crypto';
import {
  type AggregateId,
  type AggregateRecord,
  draft,
  type EventDraft,
  type Outage,
  outage,
  outageEnded,
} from '@rollcall/shared/events';
import type { OutageChange, OutageGroup } from './outage-watch.ts';

/** Whose history is the outages of the fleet, or of a group: names of servers and sets are hashed, because not all are safe ids. */
export function outageAggregate(group?: OutageGroup): AggregateId {
  if (!group) return { kind: 'hub', id: 'liveness' };
  const name = createHash('sha256').update(group.name).digest('hex').slice(0, 16);
  return { kind: 'hub', id: `liveness-${group.kind}-${name}` };
}

/** Whether an outage is declared and not ended. */
function isOutageOpen(record: AggregateRecord): boolean {
  return record.newest?.type === outage.type;
}

export interface OutageFinding extends Omit<OutageChange, 'isDeadline'> {
  readonly nowMs: number;
}

/** One event for each beginning and end, whichever replica notices first. */
export function decideOutage(record: AggregateRecord, finding: OutageFinding): EventDraft[] {
  const { change, silent, known, group, nowMs } = finding;
  if (isOutageOpen(record) === (change === 'begins')) return [];
  const section: Outage = { silent, known, sinceMs: nowMs, ...(group ? { group: { ...group } } : {}) };
  const by = { service: 'heartbeat' };
  const of = group ? ` of ${group.kind} "${group.name}"` : '';
  return change === 'begins'
    ? [
        draft(outage, record, {
          by,
          reason: 'OutageHeld',
          message: `${silent} of ${known} clusters${of} went silent together; transitions are held`,
          section,
        }),
      ]
    : [
        draft(outageEnded, record, {
          by,
          reason: 'OutageEnded',
          message: `${silent} of ${known} clusters${of} are still silent; held transitions are taken`,
          section,
        }),
      ];
}
