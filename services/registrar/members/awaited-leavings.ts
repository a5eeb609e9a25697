/** Leaving clusters that are to be looked at although nothing happens, each at its time. Pure bookkeeping. */
export class AwaitedLeavings {
  readonly #atMs = new Map<string, number>();
  #nextAtMs = Infinity;

  /** The newest word about a cluster counts. */
  put(clusterId: string, atMs: number): void {
    this.#atMs.set(clusterId, atMs);
    this.#nextAtMs = Math.min(this.#nextAtMs, atMs);
  }

  end(clusterId: string): void {
    this.#atMs.delete(clusterId);
  }

  /** When the next may be due, never later than it is; Infinity while none waits. */
  get nextAtMs(): number {
    return this.#atMs.size > 0 ? this.#nextAtMs : Infinity;
  }

  /** Those whose time has come. They wait no more. */
  takeDue(nowMs: number): string[] {
    const due: string[] = [];
    this.#nextAtMs = Infinity;
    for (const [clusterId, atMs] of this.#atMs) {
      if (atMs <= nowMs) due.push(clusterId);
      else this.#nextAtMs = Math.min(this.#nextAtMs, atMs);
    }
    for (const clusterId of due) this.#atMs.delete(clusterId);
    return due;
  }
}
