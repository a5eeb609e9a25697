import { BoundedMap } from './bounded-map.ts';

/** How long a flooder is kept out: at first, and at most when it begins again and again. */
const firstMs = 10_000;
const longestMs = 60_000;
/** Who was quiet for so long begins anew. */
const forgivenAfterMs = 600_000;

interface Term {
  untilMs: number;
  lastsMs: number;
}

/**
 * Who is not let in for a while: an agent's key, or a token together with the address from which it is shown, so that the other
 * agents of a token are let in meanwhile. Never long, because others may come from the same address.
 */
export function createTemporaryBlocklist(remembered: number) {
  const terms = new BoundedMap<string, Term>(remembered);

  return {
    has: (name: string, nowMs: number): boolean => (terms.get(name)?.untilMs ?? 0) > nowMs,
    /** While it is kept out, nothing gets longer by being put out again: that may be the same flood, told twice. */
    put(name: string, nowMs: number): void {
      const before = terms.get(name);
      if (before && before.untilMs > nowMs) return;
      const isAgain = before !== undefined && nowMs < before.untilMs + forgivenAfterMs;
      const lastsMs = isAgain ? Math.min(longestMs, before.lastsMs * 2) : firstMs;
      terms.delete(name);
      terms.set(name, { untilMs: nowMs + lastsMs, lastsMs });
    },
  };
}
