import { mostRevocations } from '@rollcall/shared/rights';
import type { ToldKeys } from './read-revoked-keys.ts';

/** User key → seconds since the epoch: the server refuses credentials issued until then. */
export type Revocations = Readonly<Record<string, number>>;

/** From here on people are told: what is left is room for a wave like the largest one so far. */
export const alarmingShare = 0.7;

/**
 * The account's whole revocation list: what the newest decision of each cluster takes back, and what is on the servers' list
 * already. Events that are missing never shorten it: a key that no event names stays until an approval names it, or its time comes.
 *
 * The time of a key is one credential life ahead, and not the moment it was taken back: a renewal that was signed at that
 * moment, or by a clock that is ahead, stays out as well. An approval takes the key off the list. Once the time has come,
 * every credential that the entry covers has ended, and the entry goes.
 * @param told - by the stream
 * @param options.stored - the list as the servers have it
 * @param options.longestLifeMs - how long any credential lives, with room for clocks that differ
 * @param options.signersSinceMs - since when nothing but the signing keys of now was signed with; what was taken back well
 *   before holds no credential that any server takes
 * @returns the list in the order of its keys, and how many did not fit. First to go are the oldest that agents replaced or gave up,
 *   as often as they may: they must not push out what somebody took back. A key that no event names counts as taken back.
 */
export function revocationList(
  { takenBack, givenBack }: ToldKeys,
  options: {
    nowMs: number;
    longestLifeMs: number;
    signersSinceMs?: number | undefined;
    stored?: Revocations;
  },
): { revocations: Revocations; dropped: number; droppedTakenBack: number } {
  const { nowMs, longestLifeMs, signersSinceMs = 0, stored = {} } = options;
  const isVoid = (atMs: number) => atMs + longestLifeMs < nowMs || atMs + raceMs < signersSinceMs;
  const newestAtMs = new Map<string, number>();
  const firm = new Set<string>();
  for (const { revokedKeys } of takenBack) {
    for (const { key, atMs, rotated, byAgent } of revokedKeys) {
      if (isVoid(atMs)) continue;
      newestAtMs.set(key, Math.max(atMs, newestAtMs.get(key) ?? 0));
      if (rotated !== true && byAgent !== true) firm.add(key);
    }
  }
  for (const [key, untilSeconds] of Object.entries(stored)) {
    const atMs = untilSeconds * 1000 - longestLifeMs;
    const isGivenBack = (givenBack.get(key) ?? Number.NEGATIVE_INFINITY) > atMs;
    if (newestAtMs.has(key) || isGivenBack || isVoid(atMs)) continue;
    newestAtMs.set(key, atMs);
    firm.add(key);
  }
  const kept =
    newestAtMs.size <= mostRevocations
      ? newestAtMs
      : new Map(
          [...newestAtMs]
            .toSorted(([a, aMs], [b, bMs]) => Number(firm.has(b)) - Number(firm.has(a)) || bMs - aMs)
            .slice(0, mostRevocations),
        );
  const revocations: Record<string, number> = {};
  for (const key of [...kept.keys()].toSorted()) {
    revocations[key] = Math.floor(((kept.get(key) ?? 0) + longestLifeMs) / 1000);
  }
  const droppedTakenBack = [...firm].filter((key) => !kept.has(key)).length;
  return { revocations, dropped: newestAtMs.size - kept.size, droppedTakenBack };
}

/** How long after a key was taken back a registrar may still sign for it: by an older reading, or by a clock that is ahead. */
const raceMs = 300_000;

export function sameRevocations(a: Revocations, b: Revocations): boolean {
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => a[key] === b[key]);
}
