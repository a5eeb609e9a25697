/** Longer than a signed ask is fresh, in either direction. */
const rememberedMs = 900_000;
/** Far more than agents can ask in that time; beyond it the oldest are forgotten. */
const maxRemembered = 100_000;

/**
 * Remembers which asks were heard. One process only: whoever shows an ask to another replica has a token made that the same
 * agent alone can open.
 * @returns whether it was heard before; it counts as heard from now on
 */
export function createHeardAsks(nowMs: () => number): (askId: string) => boolean {
  const heardAtMs = new Map<string, number>();

  function forgetOld(beforeMs: number): void {
    for (const [askId, atMs] of heardAtMs) {
      if (atMs >= beforeMs && heardAtMs.size < maxRemembered) return;
      heardAtMs.delete(askId);
    }
  }

  return (askId) => {
    const now = nowMs();
    forgetOld(now - rememberedMs);
    if (heardAtMs.has(askId)) return true;
    heardAtMs.set(askId, now);
    return false;
  };
}
