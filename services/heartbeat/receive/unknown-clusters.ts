import { hashBytes } from '../engine/hash-bytes.ts';

/** A power of two. */
const cells = 4096;
const forgetAfterMs = 5000;

/**
 * Ids that send heartbeats and are no members, so that a flood of them does not become a flood of reads. It never grows: a cell for
 * each hash, the newest wins.
 */
export class UnknownClusters {
  readonly #hash = new Int32Array(cells);
  readonly #untilMs = new Float64Array(cells);

  /** Whether the id at the end of `bytes` was looked up in vain a short while ago. */
  has(bytes: Uint8Array, start: number, nowMs: number): boolean {
    const hash = hashBytes(bytes, start, bytes.length);
    return this.#hash[hash & (cells - 1)] === hash && nowMs < this.#untilMs[hash & (cells - 1)]!;
  }

  add(id: string, nowMs: number): void {
    const hash = hashBytes(Buffer.from(id, 'latin1'), 0, id.length);
    this.#hash[hash & (cells - 1)] = hash;
    this.#untilMs[hash & (cells - 1)] = nowMs + forgetAfterMs;
  }

  /** Its heartbeat was heard after all. */
  forget(id: string): void {
    const hash = hashBytes(Buffer.from(id, 'latin1'), 0, id.length);
    if (this.#hash[hash & (cells - 1)] === hash) this.#untilMs[hash & (cells - 1)] = 0;
  }
}
