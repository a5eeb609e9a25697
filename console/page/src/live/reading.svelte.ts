import type { Refusal } from '../../../rows.ts';
import { askConsole } from './ask-console.ts';

/** What the server answers on one path: the last answer stays while it is asked again. */
export class Reading<Value> {
  value = $state.raw<Value | undefined>();
  refusal = $state.raw<Refusal | undefined>();
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
    [this.#isUnderWay, this.sinceMs] = [true, Date.now()];
    const answer = await askConsole<Value>(this.#path);
    [this.#isUnderWay, this.sinceMs] = [false, undefined];
    if (answer.isDone) [this.value, this.refusal] = [answer.value, undefined];
    else this.refusal = answer.refusal;
  }

  /** @returns how to end it */
  readEvery(ms: number): () => void {
    void this.read();
    const timer = setInterval(() => void this.read(), ms);
    return () => clearInterval(timer);
  }
}
