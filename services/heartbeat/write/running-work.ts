/** What is under way and nobody waits for until the end. */
export class RunningWork {
  readonly #running = new Set<Promise<void>>();

  /** @param work - never rejects, or somebody else hears of it */
  track(work: Promise<void>): void {
    const tracked = work.finally(() => this.#running.delete(tracked));
    this.#running.add(tracked);
  }

  /** Ends with what runs now. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#running);
  }
}
