import type { Refusal } from '../../../rows/index.ts';
import { askConsole } from './ask-console.ts';

/** What the server answers on one path: the last answer stays while it is asked again. */
export class Reading<Value> {
  value = $state.raw<Value | undefined>();
  refusal = $state.raw<Refusal | undefined>();
  /** When the value was read: what came later is not in it. */
  atMs = $state<number | undefined>();
  /** Since when an answer is waited for. */
  sinceMs = $state<number | undefined>();
  /** No state: an effect that begins a reading must not run again because it ends. */
  #isUnderWay = false;
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
  }

  async read(): Promise<void> {
    if (this.#isUnderWay) return;
    const askedMs = Date.now();
    [this.#isUnderWay, this.sinceMs] = [true, askedMs];
    const answer = await askConsole<Value>(this.#path);
    [this.#isUnderWay, this.sinceMs] = [false, undefined];
    if (answer.isDone) [this.value, this.atMs, this.refusal] = [answer.value, askedMs, undefined];
    else this.refusal = answer.refusal;
  }

  /** @returns how to end it */
  readEvery(ms: number): () => void {
    void this.read();
    const timer = setInterval(() => void this.read(), ms);
    return () => clearInterval(timer);
  }
}
