import { BoundedMap } from './bounded-map.ts';

/** So many requests, beyond what its budget allows, in so long. */
export interface Flood {
  readonly requests: number;
  readonly seconds: number;
}

/** Beyond its budget. An agent of ours sends a handful a minute, and one that is told to wait does. */
const floodFrom = 200;
const windowMs = 1000;
/** Its connections are ended in some ms. Where that fails it is tried again. */
const sayAgainAfterMs = 250;
/** Not even looked at for so long after the last one of the flood. */
const muteMs = 10_000;

interface Excess {
  sinceMs: number;
  requests: number;
  mutedUntilMs: number;
}

/** Finds agents that go on asking although they are not answered. Counting costs one look into a map. */
export function createFloodFinder(rememberedAgents: number) {
  const agents = new BoundedMap<string, Excess>(rememberedAgents);

  function excessOf(agentKey: string, nowMs: number): Excess {
    const known = agents.get(agentKey);
    if (known) return known;
    const excess = { sinceMs: nowMs, requests: 0, mutedUntilMs: 0 };
    agents.set(agentKey, excess);
    return excess;
  }

  return {
    /** Whether what it sends is counted and nothing else. */
    isMuted(agentKey: string, nowMs: number): boolean {
      return (agents.get(agentKey)?.mutedUntilMs ?? 0) > nowMs;
    },
    /**
     * Counts one ask beyond the budget.
     * @returns what there is to be told, when it floods: at once, and from time to time while it goes on
     */
    count(agentKey: string, nowMs: number): Flood | undefined {
      const excess = excessOf(agentKey, nowMs);
      const isMuted = excess.mutedUntilMs > nowMs;
      if (isMuted) excess.mutedUntilMs = nowMs + muteMs;
      const lastedMs = nowMs - excess.sinceMs;
      if (!isMuted && lastedMs > windowMs) Object.assign(excess, { sinceMs: nowMs, requests: 0 });
      excess.requests++;
      if (excess.requests < floodFrom || (isMuted && lastedMs < sayAgainAfterMs)) return undefined;
      const flood = { requests: excess.requests, seconds: Math.max(1, nowMs - excess.sinceMs) / 1000 };
      Object.assign(excess, { sinceMs: nowMs, requests: 0, mutedUntilMs: nowMs + muteMs });
      return flood;
    },
  };
}
