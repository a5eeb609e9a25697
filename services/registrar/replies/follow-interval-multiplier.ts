import type { EventLog } from '@rollcall/shared/bus';
import { toRollcallError } from '@rollcall/shared/errors';
import { intervalAggregate, intervalOf } from '@rollcall/shared/events';
import type { Logger } from '@rollcall/shared/service';

/** Agents hear it with the reply to their facts, once an hour: sooner is of no use. */
const lookEveryMs = 30_000;

/** How the heartbeat service paces the whole fleet. */
export interface FleetInterval {
  /** By how much the intervals of all are multiplied. */
  multiplier(): number;
  /** Over how long agents spread their return after an outage; undefined: as they like. */
  returnWithinMs(): number | undefined;
  stop(): void;
}

export async function followInterval(log: Pick<EventLog, 'read'>, logger: Logger): Promise<FleetInterval> {
  let interval = intervalOf(await log.read(intervalAggregate));
  async function look(): Promise<void> {
    try {
      interval = intervalOf(await log.read(intervalAggregate));
    } catch (thrown) {
      logger.warn({ err: toRollcallError(thrown) }, 'the interval of the fleet could not be read');
    }
  }
  const timer = setInterval(() => void look(), lookEveryMs);
  timer.unref();
  return {
    multiplier: () => interval?.multiplier ?? 1,
    returnWithinMs: () => interval?.returnWithinMs,
    stop: () => clearInterval(timer),
  };
}
