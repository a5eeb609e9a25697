/** Since when each of the few flapping clusters has been heard without a gap. */
export class SteadyWatch {
  readonly #sinceMs = new Map<number, number>();

  begin(slot: number, sinceMs: number): void {
    this.#sinceMs.set(slot, sinceMs);
  }

  forget(slot: number): void {
    this.#sinceMs.delete(slot);
  }

  /** Infinity while there is a gap, and for clusters that do not flap. */
  sinceMs(slot: number): number {
    return this.#sinceMs.get(slot) ?? Infinity;
  }

  /** @returns whether a gap has begun or ended; for a cluster that does not flap, never */
  heard(slot: number, isHeard: boolean, nowMs: number): boolean {
    const sinceMs = this.#sinceMs.get(slot);
    if (sinceMs === undefined || sinceMs < Infinity === isHeard) return false;
    this.#sinceMs.set(slot, isHeard ? nowMs : Infinity);
    return true;
  }
}
