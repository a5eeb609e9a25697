import { copiedInto } from './grow-column.ts';

/** Ids are at most 63 bytes (surfaces). */
export const longestIdBytes = 63;
/** Room for the link of a free entry. */
const leastBytes = 4;
const none = 0;

/**
 * Ids one after the other in one stretch of memory, each behind a byte with its length: what a UUID takes is 37 bytes. The
 * place of a removed one is used again by the next of the same length.
 */
export class IdHeap {
  #bytes: Uint8Array;
  /** No id stands at 0. */
  #top = 1;
  readonly #firstFree = new Uint32Array(longestIdBytes + 1);

  constructor(capacityBytes = 1 << 12) {
    this.#bytes = new Uint8Array(capacityBytes);
  }

  /**
   * @returns where it stands from now on; never 0
   * @throws RangeError when the id is empty or longer than 63 bytes: ids are checked before they get here
   */
  add(bytes: Uint8Array, start: number, end: number): number {
    const length = end - start;
    if (length <= 0 || length > longestIdBytes) throw new RangeError(`an id of ${length} bytes`);
    const at = this.#placeFor(length);
    this.#bytes[at] = length;
    this.#bytes.set(bytes.subarray(start, end), at + 1);
    return at;
  }

  release(at: number): void {
    const length = this.#bytes[at]!;
    this.#link(at).setUint32(0, this.#firstFree[length]!);
    this.#firstFree[length] = at;
  }

  isAt(at: number, bytes: Uint8Array, start: number, end: number): boolean {
    const heap = this.#bytes;
    if (heap[at] !== end - start) return false;
    for (let from = start, to = at + 1; from < end; from++, to++) if (heap[to] !== bytes[from]) return false;
    return true;
  }

  /** The bytes of an id, for as long as no other is added. */
  view(at: number): Uint8Array {
    return this.#bytes.subarray(at + 1, at + 1 + this.#bytes[at]!);
  }

  #placeFor(length: number): number {
    const free = this.#firstFree[length]!;
    if (free !== none) {
      this.#firstFree[length] = this.#link(free).getUint32(0);
      return free;
    }
    const at = this.#top;
    this.#top += 1 + Math.max(length, leastBytes);
    if (this.#top > this.#bytes.length)
      this.#bytes = copiedInto(this.#bytes, new Uint8Array(this.#bytes.length * 2));
    return at;
  }

  /** In a free entry its bytes say where the next free one of the same length is. */
  #link(at: number): DataView {
    return new DataView(this.#bytes.buffer, at + 1, leastBytes);
  }
}
