import type { EventLog } from '@rollcall/shared/bus';
import { toRollcallError } from '@rollcall/shared/errors';
import { paceAggregate, paceOf } from '@rollcall/shared/events';
import type { Logger } from '@rollcall/shared/service';

/** Agents hear it with the answer to their facts, once an hour: sooner is of no use. */
const lookEveryMs = 30_000;

/** How the heartbeat service paces the whole fleet. */
export interface FleetPace {
  /** By how much the intervals of all are stretched. */
  stretch(): number;
  /** Over how long agents spread their return after an outage; undefined: as they like. */
  returnWithinMs(): number | undefined;
  stop(): void;
}

export async function followPace(log: Pick<EventLog, 'read'>, logger: Logger): Promise<FleetPace> {
  let pace = paceOf(await log.read(paceAggregate));
  async function look(): Promise<void> {
    try {
      pace = paceOf(await log.read(paceAggregate));
    } catch (thrown) {
      logger.warn({ err: toRollcallError(thrown) }, 'the pace of the fleet could not be read');
    }
  }
  const timer = setInterval(() => void look(), lookEveryMs);
  timer.unref();
  return {
    stretch: () => pace?.stretch ?? 1,
    returnWithinMs: () => pace?.returnWithinMs,
    stop: () => clearInterval(timer),
  };
}
