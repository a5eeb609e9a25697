/** Two clocks: one that never jumps, for intervals and deadlines, and hub time, for what is written. */
export interface HubClock {
  monotonicMs(): number;
  hubMs(): number;
}

export const systemClock: HubClock = { monotonicMs: () => performance.now(), hubMs: () => Date.now() };

/** A monotonic point in time as hub time. */
export function toHubTime(clock: HubClock, monotonicMs: number): number {
  return Math.round(clock.hubMs() - (clock.monotonicMs() - monotonicMs));
}

/** A point in hub time as a monotonic one; before the start of the process it is negative. */
export function fromHubTime(clock: HubClock, hubMs: number): number {
  return clock.monotonicMs() - (clock.hubMs() - hubMs);
}
