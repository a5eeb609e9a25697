import { type EventLog, readHubAggregate } from '@rollcall/shared/bus';
import { decideAndAppend } from '@rollcall/shared/decisions';
import {
  type AggregateRecord,
  createEventId,
  draft,
  type EventDraft,
  intervalAggregate,
  intervalChanged,
  type IntervalChanged,
  intervalOf,
  isRecent,
  multiplierOf,
} from '@rollcall/shared/events';
import { wantedReturnMs } from './reconnect-window.ts';

/** Changed in steps and with room below, so that a fleet that grows and shrinks by a few does not change it. */
const stepsOfOne = 4;
const roomBelow = 0.7;
/** Every agent has heard of it by then: each asks the hub once an hour, and those that could not then, a little later. */
export const learntAfterMs = 2 * 3_600_000;

export interface IntervalFinding {
  /** That should be heard. */
  readonly clusters: number;
  /** What the fleet would send if nothing were multiplied. */
  readonly nominalPerSecond: number;
  readonly ceilingPerSecond: number;
  /** How many agents may come back in a second. */
  readonly returnsPerSecond: number;
  readonly nowMs: number;
}

/** How the fleet is to be judged. */
export interface IntervalInForce {
  /** All intervals and graces are so many times what they are set to. */
  readonly multiplier: number;
  /** How long agents may take to come back after an outage; 0 while the fleet is small. */
  readonly returnWithinMs: number;
}

/** By how much intervals are to be multiplied, given by how much they are now. */
export function wantedMultiplier(
  current: number,
  { nominalPerSecond, ceilingPerSecond }: Pick<IntervalFinding, 'nominalPerSecond' | 'ceilingPerSecond'>,
): number {
  const needed = nominalPerSecond / ceilingPerSecond;
  if (needed <= current && needed >= current * roomBelow) return current;
  return Math.ceil(Math.max(1, needed) * stepsOfOne) / stepsOfOne;
}

/** One event when the fleet has grown past what it may cost the hub, or fits again; whichever replica notices first. */
export function decideInterval(record: AggregateRecord, finding: IntervalFinding): EventDraft[] {
  const { clusters, nominalPerSecond, ceilingPerSecond, returnsPerSecond, nowMs } = finding;
  const [before, returnBeforeMs] = [multiplierOf(record), intervalOf(record)?.returnWithinMs];
  const multiplier = wantedMultiplier(before, finding);
  const returnWithinMs = wantedReturnMs(returnBeforeMs, finding);
  if (multiplier === before && returnWithinMs === returnBeforeMs) return [];
  const inForce = intervalInForce(record, nowMs);
  const section: IntervalChanged = {
    multiplier,
    before: inForce.multiplier,
    nominalPerSecond: Math.round(nominalPerSecond),
    ceilingPerSecond,
    sinceMs: nowMs,
    clusters,
    ...(returnWithinMs === undefined ? {} : { returnWithinMs, returnBeforeMs: inForce.returnWithinMs }),
  };
  const rate = `the fleet would send ${Math.round(nominalPerSecond)} heartbeats a second, the ceiling is ${ceilingPerSecond}`;
  const size = `of ${clusters} clusters ${returnsPerSecond} may come back in a second`;
  const said =
    multiplier === before
      ? {
          reason: 'ReturnSpread',
          message: `${size}: agents spread it over ${(returnWithinMs ?? 0) / 1000} s`,
        }
      : {
          reason: multiplier > before ? 'IntervalsLengthened' : 'IntervalsShortened',
          message: `${rate}: intervals are ${multiplier} times what they are set to`,
        };
  return [draft(intervalChanged, record, { by: { service: 'heartbeat' }, ...said, section })];
}

/**
 * What agents must be judged by: the longer time, until every agent has heard of the shorter one.
 * @param nowMs - hub time
 */
export function intervalInForce(record: AggregateRecord, nowMs: number): IntervalInForce {
  const section = intervalOf(record);
  if (!section) return { multiplier: 1, returnWithinMs: 0 };
  const { multiplier, before, sinceMs, returnWithinMs = 0, returnBeforeMs = 0 } = section;
  if (!isRecent(sinceMs, { nowMs, withinMs: learntAfterMs })) return { multiplier, returnWithinMs };
  return {
    multiplier: Math.max(multiplier, before),
    returnWithinMs: Math.max(returnWithinMs, returnBeforeMs),
  };
}

/**
 * Decides, writes what has changed, and reads what is in force. Where a newer version has said the interval last, nothing is written, and
 * the last word that can be read is in force, or none.
 */
export async function keepInterval(log: EventLog, finding: IntervalFinding): Promise<IntervalInForce> {
  await decideAndAppend(
    log,
    {
      gather: () => readHubAggregate(log, intervalAggregate.id),
      decide: ({ record, newer }) => (newer.length > 0 ? [] : decideInterval(record, finding)),
    },
    { correlation: createEventId(finding.nowMs) },
  );
  return intervalInForce((await readHubAggregate(log, intervalAggregate.id)).record, finding.nowMs);
}
