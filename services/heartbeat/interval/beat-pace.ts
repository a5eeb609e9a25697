import { type EventLog, readHubWord } from '@rollcall/shared/bus';
import { decideAndAppend } from '@rollcall/shared/decisions';
import {
  type AggregateRecord,
  createEventId,
  draft,
  type EventDraft,
  paceAggregate,
  paced,
  type Paced,
  paceOf,
  stretchOf,
} from '@rollcall/shared/events';
import { wantedReturnMs } from './return-window.ts';

/** Changed in steps and with room below, so that a fleet that grows and shrinks by a few does not change it. */
const stepsOfOne = 4;
const roomBelow = 0.7;
/** Every agent has heard of it by then: each asks the hub once an hour, and those that could not then, a little later. */
export const learntAfterMs = 2 * 3_600_000;

export interface PaceFinding {
  /** That should be heard. */
  readonly clusters: number;
  /** What the fleet would send if nothing were stretched. */
  readonly nominalPerSecond: number;
  readonly ceilingPerSecond: number;
  /** How many agents may come back in a second. */
  readonly returnsPerSecond: number;
  readonly nowMs: number;
}

/** How the fleet is to be judged. */
export interface PaceInForce {
  /** All intervals and graces are so many times what they are set to. */
  readonly stretch: number;
  /** How long agents may take to come back after an outage; 0 while the fleet is small. */
  readonly returnWithinMs: number;
}

/** By how much intervals are to be stretched, given by how much they are now. */
export function wantedStretch(
  current: number,
  { nominalPerSecond, ceilingPerSecond }: Pick<PaceFinding, 'nominalPerSecond' | 'ceilingPerSecond'>,
): number {
  const needed = Math.max(1, nominalPerSecond / ceilingPerSecond);
  if (needed <= current && needed >= current * roomBelow) return current;
  return Math.ceil(needed * stepsOfOne) / stepsOfOne;
}

/** One event when the fleet has grown past what it may cost the hub, or fits again; whichever replica notices first. */
export function decidePace(record: AggregateRecord, finding: PaceFinding): EventDraft[] {
  const { clusters, nominalPerSecond, ceilingPerSecond, returnsPerSecond, nowMs } = finding;
  const [before, returnBeforeMs] = [stretchOf(record), paceOf(record)?.returnWithinMs];
  const stretch = wantedStretch(before, finding);
  const returnWithinMs = wantedReturnMs(returnBeforeMs, finding);
  if (stretch === before && returnWithinMs === returnBeforeMs) return [];
  const inForce = paceInForce(record, nowMs);
  const section: Paced = {
    stretch,
    before: inForce.stretch,
    nominalPerSecond: Math.round(nominalPerSecond),
    ceilingPerSecond,
    sinceMs: nowMs,
    clusters,
    ...(returnWithinMs === undefined ? {} : { returnWithinMs, returnBeforeMs: inForce.returnWithinMs }),
  };
  const rate = `the fleet would send ${Math.round(nominalPerSecond)} beats a second, the ceiling is ${ceilingPerSecond}`;
  const size = `of ${clusters} clusters ${returnsPerSecond} may come back in a second`;
  const said =
    stretch === before
      ? {
          reason: 'ReturnSpread',
          message: `${size}: agents spread it over ${(returnWithinMs ?? 0) / 1000} s`,
        }
      : {
          reason: stretch > before ? 'IntervalsStretched' : 'IntervalsShortened',
          message: `${rate}: intervals are ${stretch} times what they are set to`,
        };
  return [draft(paced, record, { by: { service: 'heartbeat' }, ...said, section })];
}

/**
 * What agents must be judged by: the longer time, until every agent has heard of the shorter one.
 * @param nowMs - hub time
 */
export function paceInForce(record: AggregateRecord, nowMs: number): PaceInForce {
  const section = paceOf(record);
  if (!section) return { stretch: 1, returnWithinMs: 0 };
  const { stretch, before, returnWithinMs = 0, returnBeforeMs = 0 } = section;
  if (nowMs >= section.sinceMs + learntAfterMs) return { stretch, returnWithinMs };
  return {
    stretch: Math.max(stretch, before),
    returnWithinMs: Math.max(returnWithinMs, returnBeforeMs),
  };
}

/**
 * Decides, writes what has changed, and reads what is in force. Where a newer version has said the pace last, nothing is written, and
 * the last word that can be read is in force, or none.
 */
export async function keepPace(log: EventLog, finding: PaceFinding): Promise<PaceInForce> {
  await decideAndAppend(
    log,
    {
      gather: () => readHubWord(log, paceAggregate.id),
      decide: ({ record, newer }) => (newer.length > 0 ? [] : decidePace(record, finding)),
    },
    { correlation: createEventId(finding.nowMs) },
  );
  return paceInForce((await readHubWord(log, paceAggregate.id)).record, finding.nowMs);
}
