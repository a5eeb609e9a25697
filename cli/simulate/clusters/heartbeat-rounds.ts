import type { Random } from '../random.ts';

const tickMs = 50;

/**
 * Whose heartbeat is due: every cluster once in each interval, at a time of its own, as agents that were started at different times send
 * them. Costs one look at each tick, however many clusters there are.
 */
export class HeartbeatRounds {
  readonly #buckets: number[][];
  readonly #startMs: number;
  #done = 0;

  constructor(options: { intervalMs: number; startMs: number }) {
    const ticks = Math.max(1, Math.round(options.intervalMs / tickMs));
    this.#buckets = Array.from({ length: ticks }, () => []);
    this.#startMs = options.startMs;
  }

  add(cluster: number, random: Random): void {
    this.#buckets[random.int(0, this.#buckets.length - 1)]?.push(cluster);
  }

  /** Calls back for everyone who is due up to now; what a pause of ours has left out is left out, as heartbeats are. */
  due(nowMs: number, heartbeat: (cluster: number) => void): void {
    const until = Math.floor((nowMs - this.#startMs) / tickMs);
    this.#done = Math.max(this.#done, until - this.#buckets.length);
    for (; this.#done < until; this.#done++)
      for (const cluster of this.#buckets[this.#done % this.#buckets.length] ?? []) heartbeat(cluster);
  }
}
