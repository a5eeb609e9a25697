import type { EventLog } from '@rollcall/shared/bus';
import { toRollcallError } from '@rollcall/shared/errors';
import { paceAggregate, stretchOf } from '@rollcall/shared/events';
import type { Logger } from '@rollcall/shared/service';

/** Agents hear it with the answer to their facts, every few minutes: sooner is of no use. */
const lookEveryMs = 30_000;

export interface BeatStretch {
  current(): number;
  stop(): void;
}

/** By how much the heartbeat service has stretched the intervals of the whole fleet. */
export async function followStretch(log: Pick<EventLog, 'read'>, logger: Logger): Promise<BeatStretch> {
  let stretch = stretchOf(await log.read(paceAggregate));
  async function look(): Promise<void> {
    try {
      stretch = stretchOf(await log.read(paceAggregate));
    } catch (thrown) {
      logger.warn({ err: toRollcallError(thrown) }, 'the pace of beats could not be read');
    }
  }
  const timer = setInterval(() => void look(), lookEveryMs);
  timer.unref();
  return { current: () => stretch, stop: () => clearInterval(timer) };
}
