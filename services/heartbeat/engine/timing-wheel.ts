import { copiedInto } from './grow-column.ts';

const none = -1;

/**
 * Deadlines of many slots: schedule, cancel and expire are O(1). A hashed wheel with one level: a bucket for each tick,
 * each a doubly linked list through typed arrays. A deadline further away than one turn stays in its bucket until its turn
 * comes; with 8192 ticks of 50 ms a turn is seven minutes, longer than any deadline in normal use.
 */
export class TimingWheel {
  readonly #tickMs: number;
  readonly #startMs: number;
  readonly #mask: number;
  /** The last list is for what is expiring right now, so that it can be cancelled until its turn. */
  readonly #expiring: number;
  readonly #heads: Int32Array;
  #next: Int32Array;
  #previous: Int32Array;
  #bucket: Int16Array;
  /** 32 bits of ticks last for years. */
  #dueTick: Uint32Array;
  #tick = 0;

  /** @param options.buckets - a power of two */
  constructor(options: { startMs: number; tickMs?: number; buckets?: number; capacity?: number }) {
    const buckets = options.buckets ?? 8192;
    const capacity = options.capacity ?? 64;
    this.#tickMs = options.tickMs ?? 50;
    this.#startMs = options.startMs;
    this.#mask = buckets - 1;
    this.#expiring = buckets;
    this.#heads = new Int32Array(buckets + 1).fill(none);
    this.#next = new Int32Array(capacity);
    this.#previous = new Int32Array(capacity);
    this.#bucket = new Int16Array(capacity).fill(none);
    this.#dueTick = new Uint32Array(capacity);
  }

  /** Makes room for slots below `capacity`. */
  grow(capacity: number): void {
    if (capacity <= this.#bucket.length) return;
    this.#next = copiedInto(this.#next, new Int32Array(capacity));
    this.#previous = copiedInto(this.#previous, new Int32Array(capacity));
    this.#bucket = copiedInto(this.#bucket, new Int16Array(capacity).fill(none));
    this.#dueTick = copiedInto(this.#dueTick, new Uint32Array(capacity));
  }

  /** Sets the slot's only deadline. It expires at the first tick at or after `atMs`, never before it. */
  schedule(slot: number, atMs: number): void {
    this.cancel(slot);
    const tick = Math.max(Math.ceil((atMs - this.#startMs) / this.#tickMs), this.#tick + 1);
    this.#dueTick[slot] = tick;
    this.#link(slot, tick & this.#mask);
  }

  cancel(slot: number): void {
    const bucket = this.#bucket[slot]!;
    if (bucket === none) return;
    const next = this.#next[slot]!;
    const previous = this.#previous[slot]!;
    if (previous === none) this.#heads[bucket] = next;
    else this.#next[previous] = next;
    if (next !== none) this.#previous[next] = previous;
    this.#bucket[slot] = none;
  }

  isScheduled(slot: number): boolean {
    return this.#bucket[slot] !== none;
  }

  /** Calls `expire` once for every deadline that has passed; it may schedule and cancel as it likes. */
  advance(nowMs: number, expire: (slot: number) => void): void {
    const target = Math.floor((nowMs - this.#startMs) / this.#tickMs);
    if (target <= this.#tick) return;
    // After a pause of more than one turn every bucket is looked at once.
    const first = Math.max(this.#tick + 1, target - this.#mask);
    this.#tick = target;
    for (let tick = first; tick <= target; tick++) this.#collect(tick & this.#mask);
    for (let slot = this.#heads[this.#expiring]!; slot !== none; slot = this.#heads[this.#expiring]!) {
      this.cancel(slot);
      expire(slot);
    }
  }

  #collect(bucket: number): void {
    for (let slot = this.#heads[bucket]!; slot !== none;) {
      const next = this.#next[slot]!;
      if (this.#dueTick[slot]! <= this.#tick) {
        this.cancel(slot);
        this.#link(slot, this.#expiring);
      }
      slot = next;
    }
  }

  #link(slot: number, bucket: number): void {
    const head = this.#heads[bucket]!;
    this.#next[slot] = head;
    this.#previous[slot] = none;
    if (head !== none) this.#previous[head] = slot;
    this.#heads[bucket] = slot;
    this.#bucket[slot] = bucket;
  }
}
