import { ByteIndex } from '../engine/byte-index.ts';
import { longestIdBytes } from '../engine/id-heap.ts';
import type { HeardFlood } from '../engine/liveness-signals.ts';

/** Whoever floods is among the first of a window; a fleet whose parts are set wrongly brings more ids, and each seldom. */
export const mostForeignIds = 1024;

/**
 * What is sent in the names of clusters that this process does not follow. A member may send heartbeats in any part of the fleet
 * (`rollcall.heartbeat-partition.*.NAME`), and where it does not belong nobody else hears it. It is counted and says nothing.
 */
export class ForeignHeartbeats {
  #ids = new ByteIndex();
  readonly #heartbeats = new Float64Array(mostForeignIds);

  /** @param bytes - ends with the id, which begins at `start` */
  count(bytes: Uint8Array, start: number, times: number): void {
    const length = bytes.length - start;
    if (length <= 0 || length > longestIdBytes) return;
    let slot = this.#ids.find(bytes, start, bytes.length);
    if (slot < 0) {
      if (this.#ids.size >= mostForeignIds) return;
      slot = this.#ids.insert(bytes, start, bytes.length);
    }
    this.#heartbeats[slot]! += times;
  }

  /** Who sent more than that since this was asked last. */
  takeFloods(most: number): HeardFlood[] {
    if (this.#ids.size === 0) return [];
    const floods: { clusterId: string; heartbeats: number }[] = [];
    for (let slot = 0; slot < this.#ids.size; slot++) {
      const heartbeats = this.#heartbeats[slot]!;
      if (heartbeats > most) floods.push({ clusterId: this.#ids.textOf(slot), heartbeats });
    }
    this.#ids = new ByteIndex();
    this.#heartbeats.fill(0);
    return floods;
  }
}
