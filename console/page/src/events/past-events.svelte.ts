import type { EventRow, EventsPart, Refusal } from '../../../rows/index.ts';
import { askConsole } from '../live/ask-console.ts';

/** Events from a moment on, part by part, the oldest first. */
export class PastEvents {
  rows = $state.raw<readonly EventRow[]>([]);
  /** Where it goes on; undefined: all of them are here. */
  next = $state<number | undefined>();
  isReading = $state(false);
  refusal = $state.raw<Refusal | undefined>();

  /** @returns how to end it */
  start(from: string): () => void {
    [this.rows, this.next, this.refusal] = [[], undefined, undefined];
    let isCurrent = true;
    if (from !== '') void this.#read(`from=${encodeURIComponent(from)}`, () => isCurrent);
    return () => (isCurrent = false);
  }

  async more(): Promise<void> {
    const { next } = this;
    if (next !== undefined && !this.isReading) await this.#read(`next=${next}`, () => this.next === next);
  }

  async #read(query: string, isCurrent: () => boolean): Promise<void> {
    this.isReading = true;
    const answer = await askConsole<EventsPart>(`/api/events?${query}`);
    if (!isCurrent()) return;
    this.isReading = false;
    if (answer.isDone) {
      this.rows = [...this.rows, ...answer.value.rows];
      this.next = answer.value.next;
      this.refusal = undefined;
    } else this.refusal = answer.refusal;
  }
}
