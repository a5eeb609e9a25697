import { createTimes, type Times } from './times.ts';
import type { Timeline } from './timeline.ts';

/** So many a second and a second's worth at once, as the projector's write budget has it. */
export interface Limiter {
  pass(count: number, then: () => void): void;
  readonly waits: Times;
  passed(): number;
  readonly perSecond: number;
}

export function createLimiter(timeline: Timeline, { perSecond }: { perSecond: number }): Limiter {
  const msEach = 1000 / perSecond;
  const waits = createTimes();
  let spentUntilMs = Number.NEGATIVE_INFINITY;
  let passed = 0;
  return {
    waits,
    perSecond,
    passed: () => passed,
    pass(count, then) {
      const nowMs = timeline.nowMs();
      passed += count;
      spentUntilMs = Math.max(spentUntilMs, nowMs - 1000) + msEach * count;
      const waitMs = Math.max(0, spentUntilMs - nowMs);
      waits.add(waitMs);
      timeline.after(waitMs, then);
    },
  };
}
