import {
  type AggregateId,
  type AggregateRecord,
  draft,
  type EventDraft,
  storm,
  stormEnded,
} from '@rollcall/shared/events';

/** The aggregate whose history is the storms. */
export const stormAggregate: AggregateId = { kind: 'hub', id: 'liveness' };

/** Whether a storm is declared and not ended. */
export function isStormOpen(record: AggregateRecord): boolean {
  return record.newest?.type === storm.type;
}

export interface StormFinding {
  readonly change: 'begins' | 'ends';
  readonly silent: number;
  readonly known: number;
  readonly nowMs: number;
}

/** One event for each beginning and end, whichever replica notices first. */
export function decideStorm(record: AggregateRecord, finding: StormFinding): EventDraft[] {
  const { change, silent, known, nowMs } = finding;
  if (isStormOpen(record) === (change === 'begins')) return [];
  const section = { silent, known, sinceMs: nowMs };
  const by = { service: 'heartbeat' };
  return change === 'begins'
    ? [
        draft(storm, record, {
          by,
          reason: 'StormHeld',
          message: `${silent} of ${known} clusters went silent together; transitions are held`,
          section,
        }),
      ]
    : [
        draft(stormEnded, record, {
          by,
          reason: 'StormEnded',
          message: `${silent} of ${known} clusters are still silent; held transitions are taken`,
          section,
        }),
      ];
}
