/** A stretch of time in which this process, and so the agents in it, could do nothing; in hub time. */
export interface Stall {
  readonly fromMs: number;
  readonly untilMs: number;
}

const lookEveryMs = 500;
const stalledAfterMs = 3000;
/** What was waiting takes several turns of the event loop: out of an agent, through its network, to the server. */
const catchesUpTimes = 4;

/** Times at which this process had no time: on a machine that is too busy, agents are silent by that, and rightly told so. */
export function watchOwnStalls(): { stalls(): readonly Stall[]; stop(): void } {
  const stalls: Stall[] = [];
  let lastMs = Date.now();
  const timer = setInterval(() => {
    const nowMs = Date.now();
    const awayMs = nowMs - lastMs;
    if (awayMs > stalledAfterMs) stalls.push({ fromMs: lastMs, untilMs: nowMs + catchesUpTimes * awayMs });
    lastMs = nowMs;
  }, lookEveryMs);
  return { stalls: () => stalls, stop: () => clearInterval(timer) };
}
