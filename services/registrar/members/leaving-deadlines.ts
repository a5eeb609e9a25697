/** For who ends it by an event: a replica whose clock is behind may have heard of that before the time was over. */
const firstLookMs = 30_000;
/** Of a cluster that cannot leave, because its namespace has a finalizer or the hub's Kubernetes is away: its event ends it anyway. */
const longestLookMs = 30 * 60_000;

/** Leaving clusters that are to be looked at although nothing happens, each at its time. Pure bookkeeping. */
export class AwaitedLeavings {
  readonly #atMs = new Map<string, number>();
  /** Looks that changed nothing, of those that wait for more than the time of their agent. */
  readonly #looks = new Map<string, number>();
  #nextAtMs = Infinity;

  /** The newest word about a cluster counts. */
  put(clusterId: string, atMs: number): void {
    this.#atMs.set(clusterId, atMs);
    this.#nextAtMs = Math.min(this.#nextAtMs, atMs);
  }

  /**
   * It was looked at in vain, and nothing tells what it waits for: each look is twice as long after the one before as that was.
   * @param due.jitter - 0 to 1: replicas that began together do not look together
   */
  putOff(clusterId: string, { nowMs, jitter }: { nowMs: number; jitter: number }): void {
    const looks = this.#looks.get(clusterId) ?? 0;
    this.#looks.set(clusterId, looks + 1);
    const delayMs = Math.min(firstLookMs * 2 ** Math.min(looks, 20), longestLookMs);
    this.put(clusterId, nowMs + delayMs * (1 + jitter / 2));
  }

  end(clusterId: string): void {
    this.#atMs.delete(clusterId);
    this.#looks.delete(clusterId);
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
