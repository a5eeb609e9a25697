import type { Decision } from '@rollcall/shared/events';

/** User key → seconds since the epoch: the server refuses credentials issued until then. */
export type Revocations = Readonly<Record<string, number>>;

/**
 * Credentials that a registrar issued by the decision before, while this one was written, or by a clock that is ahead.
 * An agent that may ask again is refused for no longer than this; an approval takes its key off the list at once.
 */
const graceSeconds = 5;
/** 93 bytes each: at 12,000 the server's max_payload refuses the whole account (measured). */
export const mostRevocations = 10_000;

/**
 * The account's whole revocation list, by what the newest decision of each cluster takes back.
 * @param decisions - one for each cluster that has taken a key back
 * @param options.longestLifeMs - how long any credential lives; what was taken back before that has lapsed by itself
 * @returns the list in the order of its keys, and how many of the oldest did not fit
 */
export function revocationList(
  decisions: Iterable<Pick<Decision, 'revokedKeys'>>,
  options: { nowMs: number; longestLifeMs: number },
): { revocations: Revocations; dropped: number } {
  const newestAtMs = new Map<string, number>();
  for (const { key, atMs } of [...decisions].flatMap(({ revokedKeys }) => revokedKeys)) {
    if (atMs + options.longestLifeMs < options.nowMs) continue;
    newestAtMs.set(key, Math.max(atMs, newestAtMs.get(key) ?? 0));
  }
  const newestFirst = [...newestAtMs].toSorted(([, a], [, b]) => b - a);
  const kept = newestFirst.slice(0, mostRevocations);
  const revocations = Object.fromEntries(
    kept
      .map(([key, atMs]) => [key, Math.floor(atMs / 1000) + graceSeconds] as const)
      .toSorted(([a], [b]) => (a < b ? -1 : 1)),
  );
  return { revocations, dropped: newestFirst.length - kept.length };
}

export function sameRevocations(a: Revocations, b: Revocations): boolean {
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => a[key] === b[key]);
}
