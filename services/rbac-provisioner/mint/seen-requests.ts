/** Longer than a signed request is fresh, in either direction. */
const rememberedMs = 900_000;
/** Far more than agents can ask in that time; beyond it the oldest are forgotten. */
const maxRemembered = 100_000;

/**
 * Remembers which requests were seen. One process only: whoever shows a request to another replica has a token made that the same
 * agent alone can open.
 * @returns whether it was heard before; it counts as heard from now on
 */
export function createSeenRequests(nowMs: () => number): (requestId: string) => boolean {
  const heardAtMs = new Map<string, number>();

  function forgetOld(beforeMs: number): void {
    for (const [requestId, atMs] of heardAtMs) {
      if (atMs >= beforeMs && heardAtMs.size < maxRemembered) return;
      heardAtMs.delete(requestId);
    }
  }

  return (requestId) => {
    const now = nowMs();
    forgetOld(now - rememberedMs);
    if (heardAtMs.has(requestId)) return true;
    heardAtMs.set(requestId, now);
    return false;
  };
}
