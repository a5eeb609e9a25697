import type { DataFrame } from './frame.ts';

/** What one side of a stream was given to say and has not said yet, as few frames as it can be. */
export class UnsentData {
  head: Uint8Array | undefined;
  /** Whether nothing comes after it. */
  hasEnd = false;
  #sizeBytes = 0;
  #parts: Uint8Array[] = [];

  /** Of the body. */
  get sizeBytes(): number {
    return this.#sizeBytes;
  }

  get isEmpty(): boolean {
    return this.head === undefined && this.#sizeBytes === 0 && !this.hasEnd;
  }

  add(part: Uint8Array): void {
    this.#parts.push(part);
    this.#sizeBytes += part.length;
  }

  clear(): void {
    this.head = undefined;
    this.hasEnd = false;
    this.#parts = [];
    this.#sizeBytes = 0;
  }

  /**
   * What the next frame says.
   * @param roomBytes - for a body beside a head of so many bytes
   * @returns undefined where it would say nothing
   */
  next(roomBytes: (headBytes: number) => number): Omit<DataFrame, 'kind'> | undefined {
    const { head } = this;
    const sizeBytes = Math.min(this.#sizeBytes, roomBytes(head?.length ?? 0));
    const isLast = this.hasEnd && sizeBytes === this.#sizeBytes;
    if (head === undefined && sizeBytes === 0 && !isLast) return undefined;
    this.head = undefined;
    if (isLast) this.hasEnd = false;
    return { head, data: this.#take(sizeBytes), isLast };
  }

  #take(sizeBytes: number): Uint8Array {
    this.#sizeBytes -= sizeBytes;
    const taken: Uint8Array[] = [];
    for (let left = sizeBytes; left > 0;) {
      const part = this.#parts.shift();
      if (part === undefined) break;
      if (part.length > left) this.#parts.unshift(part.subarray(left));
      taken.push(part.length > left ? part.subarray(0, left) : part);
      left -= part.length;
    }
    const [only, ...more] = taken;
    return only !== undefined && more.length === 0 ? only : Buffer.concat(taken);
  }
}
