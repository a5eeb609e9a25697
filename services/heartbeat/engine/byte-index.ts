import { copiedInto } from './grow-column.ts';
import { hashBytes } from './hash-bytes.ts';
import { IdHeap, longestIdBytes } from './id-heap.ts';

const empty = -1;
/** No id stands there in the heap. */
const unused = 0;

/**
 * From the bytes of an id to a small number, its slot. Open addressing with linear probing over typed arrays: no object
 * per id, no allocation in `find`. Slots of removed ids are used again.
 */
export class ByteIndex {
  #capacity: number;
  #size = 0;
  /** Slots that were ever used; beyond it all are free. */
  #highest = 0;
  /** Only as long as it has to be; a fleet that does not shrink has none. */
  readonly #free: number[] = [];
  readonly #heap = new IdHeap();
  /** Where the id of a slot stands. */
  #idAt: Uint32Array;
  /**
   * Pairs of slot and hash side by side, so that a look touches one line of memory here. Twice as many as slots: probes stay
   * short.
   */
  #cells: Int32Array;

  /** @param capacity - a power of two; it doubles when it is used up */
  constructor(capacity = 64) {
    this.#capacity = capacity;
    this.#idAt = new Uint32Array(capacity);
    this.#cells = new Int32Array(capacity * 4).fill(empty);
  }

  get size(): number {
    return this.#size;
  }

  /** Slots are below this. */
  get capacity(): number {
    return this.#capacity;
  }

  /** @returns the slot of the id in `bytes[start, end)`, or -1 */
  find(bytes: Uint8Array, start: number, end: number): number {
    const length = end - start;
    if (length <= 0 || length > longestIdBytes) return -1;
    const hash = hashBytes(bytes, start, end);
    const mask = this.#cells.length - 1;
    for (let cell = (hash << 1) & mask; ; cell = (cell + 2) & mask) {
      const slot = this.#cells[cell]!;
      if (slot === empty) return -1;
      if (this.#cells[cell + 1] === hash && this.#heap.isAt(this.#idAt[slot]!, bytes, start, end))
        return slot;
    }
  }

  /**
   * @returns the slot of the id, a new one where it was unknown
   * @throws RangeError when the id is empty or longer than 63 bytes: ids are checked before they get here
   */
  insert(bytes: Uint8Array, start: number, end: number): number {
    const known = this.find(bytes, start, end);
    if (known >= 0) return known;
    const at = this.#heap.add(bytes, start, end);
    if (this.#size === this.#capacity) this.#grow();
    const slot = this.#free.pop() ?? this.#highest++;
    this.#idAt[slot] = at;
    this.#size++;
    this.#place(slot, hashBytes(bytes, start, end));
    return slot;
  }

  /** Forgets the id of a slot that is in use. */
  remove(slot: number): void {
    const cells = this.#cells;
    const mask = cells.length - 1;
    const id = this.#heap.view(this.#idAt[slot]!);
    let hole = (hashBytes(id, 0, id.length) << 1) & mask;
    while (cells[hole] !== slot) hole = (hole + 2) & mask;
    // Whoever probed past the hole moves back, so that no tombstones pile up.
    for (let cell = (hole + 2) & mask; cells[cell] !== empty; cell = (cell + 2) & mask) {
      const home = (cells[cell + 1]! << 1) & mask;
      if (((cell - home) & mask) < ((cell - hole) & mask)) continue;
      cells[hole] = cells[cell]!;
      cells[hole + 1] = cells[cell + 1]!;
      hole = cell;
    }
    cells[hole] = empty;
    this.#heap.release(this.#idAt[slot]!);
    this.#idAt[slot] = unused;
    this.#free.push(slot);
    this.#size--;
  }

  isUsed(slot: number): boolean {
    return slot < this.#highest && this.#idAt[slot] !== unused;
  }

  textOf(slot: number): string {
    const id = this.#heap.view(this.#idAt[slot]!);
    return Buffer.from(id.buffer, id.byteOffset, id.length).toString('latin1');
  }

  #place(slot: number, hash: number): void {
    const mask = this.#cells.length - 1;
    let cell = (hash << 1) & mask;
    while (this.#cells[cell] !== empty) cell = (cell + 2) & mask;
    this.#cells[cell] = slot;
    this.#cells[cell + 1] = hash;
  }

  #grow(): void {
    const capacity = this.#capacity * 2;
    this.#idAt = copiedInto(this.#idAt, new Uint32Array(capacity));
    const before = this.#cells;
    this.#cells = new Int32Array(capacity * 4).fill(empty);
    this.#capacity = capacity;
    for (let cell = 0; cell < before.length; cell += 2) {
      if (before[cell] !== empty) this.#place(before[cell]!, before[cell + 1]!);
    }
  }
}
