import type { EventLog } from '@rollcall/shared/bus';
import { decideAndAppend } from '@rollcall/shared/decisions';
import {
  type AggregateRecord,
  createEventId,
  draft,
  type EventDraft,
  paceAggregate,
  paced,
  type Paced,
  stretchOf,
} from '@rollcall/shared/events';

/** Changed in steps and with room below, so that a fleet that grows and shrinks by a few does not change it. */
const stepsOfOne = 4;
const roomBelow = 0.7;
/** Every agent has heard of it by then: the hub answers their facts every five minutes. */
export const learntAfterMs = 600_000;

export interface PaceFinding {
  /** What the fleet would send if nothing were stretched. */
  readonly nominalPerSecond: number;
  readonly ceilingPerSecond: number;
  readonly nowMs: number;
}

/** By how much intervals are to be stretched, given by how much they are now. */
export function wantedStretch(current: number, { nominalPerSecond, ceilingPerSecond }: PaceFinding): number {
  const needed = Math.max(1, nominalPerSecond / ceilingPerSecond);
  if (needed <= current && needed >= current * roomBelow) return current;
  return Math.ceil(needed * stepsOfOne) / stepsOfOne;
}

/** One event when the fleet has grown past what beats may cost the hub, or fits again; whichever replica notices first. */
export function decidePace(record: AggregateRecord, finding: PaceFinding): EventDraft[] {
  const before = stretchOf(record);
  const stretch = wantedStretch(before, finding);
  if (stretch === before) return [];
  const { nominalPerSecond, ceilingPerSecond, nowMs } = finding;
  const section: Paced = {
    stretch,
    before,
    nominalPerSecond: Math.round(nominalPerSecond),
    ceilingPerSecond,
    sinceMs: nowMs,
  };
  const rate = `the fleet would send ${Math.round(nominalPerSecond)} beats a second, the ceiling is ${ceilingPerSecond}`;
  return [
    draft(paced, record, {
      by: { service: 'heartbeat' },
      reason: stretch > before ? 'IntervalsStretched' : 'IntervalsShortened',
      message: `${rate}: intervals are ${stretch} times what they are set to`,
      section,
    }),
  ];
}

/**
 * What agents must be judged by: the longer interval, until every agent has heard of the shorter one.
 * @param nowMs - hub time
 */
export function stretchInForce(record: AggregateRecord, nowMs: number): number {
  const section = record.lastOf.heartbeat?.section as Paced | undefined;
  if (!section) return 1;
  return nowMs < section.sinceMs + learntAfterMs
    ? Math.max(section.stretch, section.before)
    : section.stretch;
}

/** Decides, writes what has changed, and reads what is in force. */
export async function keepPace(log: EventLog, finding: PaceFinding): Promise<number> {
  await decideAndAppend(
    log,
    { gather: () => log.read(paceAggregate), decide: (record) => decidePace(record, finding) },
    { correlation: createEventId(finding.nowMs) },
  );
  return stretchInForce(await log.read(paceAggregate), finding.nowMs);
}
