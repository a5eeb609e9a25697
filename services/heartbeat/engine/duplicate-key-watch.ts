/** Heartbeats of so many intervals are counted before anything is said: renewals and restarts are over long before. */
export const windowIntervals = 6;
/** Two agents send heartbeats twice as often as one; between the two figures nothing changes, so that it does not flap. */
const sharedFrom = 1.75;
const singleBelow = 1.25;

export interface KeyUseView {
  readonly heartbeats: number;
  readonly elapsedMs: number;
  readonly intervalMs: number;
  /** What the hub has said. */
  readonly isShared: boolean;
  /** More than one connection of the key is known to be open. */
  readonly isDoubled: boolean;
}
export type KeyUseVerdict = 'too-early' | 'shared' | 'single' | 'alone' | 'as-it-was';

/**
 * Whether two agents use one key: both are connected, and both send heartbeats. An agent that lost its network has two connections for
 * a while as well, the dead one among them, and heartbeats once. A server that was killed tells of no end: what it had open is dead, and
 * the agent is `alone` on its newest connection.
 */
export function judgeKeyUse({
  heartbeats,
  elapsedMs,
  intervalMs,
  isShared,
  isDoubled,
}: KeyUseView): KeyUseVerdict {
  if (elapsedMs < windowIntervals * intervalMs) return 'too-early';
  const rate = (heartbeats * intervalMs) / elapsedMs;
  if (!isShared && isDoubled && rate >= sharedFrom) return 'shared';
  if (rate < singleBelow && isShared) return 'single';
  if (rate < singleBelow && isDoubled) return 'alone';
  return 'as-it-was';
}

interface Window {
  sinceMs: number;
  heartbeats: number;
  isShared: boolean;
  /** By the last heartbeats that were counted; what the hub says follows when that is written and read again. */
  isHeardTwice: boolean;
}

/** Counts the heartbeats of the few clusters whose key may be in use twice. */
export class KeyUseWatch {
  readonly #windows = new Map<number, Window>();

  isShared(slot: number): boolean {
    return this.#windows.get(slot)?.isShared ?? false;
  }

  /** Whether two agents are heard: one that says goodbye leaves the other. */
  hasTwo(slot: number): boolean {
    return this.isShared(slot) || (this.#windows.get(slot)?.isHeardTwice ?? false);
  }

  /** A second connection is open, or the hub has said that the key is shared. */
  watch(slot: number, nowMs: number, isShared = this.isShared(slot)): void {
    const known = this.#windows.get(slot);
    if (known) known.isShared = isShared;
    else this.#windows.set(slot, { sinceMs: nowMs, heartbeats: 0, isShared, isHeardTwice: false });
  }

  forget(slot: number): void {
    this.#windows.delete(slot);
  }

  /**
   * A heartbeat of a cluster that is watched.
   * @returns what has changed; `over` and `alone` when there is nothing left to watch
   */
  heard(
    slot: number,
    { intervalMs, isDoubled, nowMs }: { intervalMs: number; isDoubled: boolean; nowMs: number },
  ): 'shared' | 'single' | 'alone' | 'over' | undefined {
    const window = this.#windows.get(slot);
    if (!window) return 'over';
    window.heartbeats++;
    const { heartbeats, isShared } = window;
    const elapsedMs = nowMs - window.sinceMs;
    const verdict = judgeKeyUse({ heartbeats, elapsedMs, intervalMs, isShared, isDoubled });
    if (verdict === 'too-early') return undefined;
    const isOver = verdict === 'as-it-was' && !isShared && !isDoubled;
    if (isOver || verdict === 'alone') {
      this.#windows.delete(slot);
      return isOver ? 'over' : 'alone';
    }
    window.sinceMs = nowMs;
    window.heartbeats = 0;
    if (verdict !== 'as-it-was') window.isHeardTwice = verdict === 'shared';
    return verdict === 'as-it-was' ? undefined : verdict;
  }
}
