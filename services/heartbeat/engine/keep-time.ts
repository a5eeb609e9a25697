import type { Logger } from '@rollcall/shared/service';
import type { HubClock } from './hub-clock.ts';
import type { LivenessEngine } from './liveness-engine.ts';

const tickMs = 50;
/** A process that was stopped or starved for this long has missed heartbeats that were sent. */
const pauseMs = 1000;

/**
 * Moves the engine's time on. After a pause of the whole process nobody's silence counts, because what was sent meanwhile
 * is still waiting to be read.
 * @param options.isListening - false while the bus is away: then no deadline passes
 * @returns stops it
 */
export function keepTime(options: {
  engine: LivenessEngine;
  clock: HubClock;
  logger: Logger;
  isListening(): boolean;
}): () => void {
  const { engine, clock, logger } = options;
  let lastMs = clock.monotonicMs();
  const timer = setInterval(() => {
    const nowMs = clock.monotonicMs();
    const gapMs = nowMs - lastMs;
    lastMs = nowMs;
    if (gapMs > pauseMs) {
      logger.warn(
        { durationMs: Math.round(gapMs) },
        'process was paused; every cluster has its whole grace again',
      );
      engine.listenAfresh(nowMs);
    } else if (options.isListening()) {
      engine.advance(nowMs);
    }
  }, tickMs);
  return () => clearInterval(timer);
}
