import type { Random } from '../../cli/simulate/random.ts';
import { Violation } from './violation.ts';

/** A process of the simulated world. What a dead one waits for never comes; what a paused one waits for comes later. */
export interface Life {
  readonly name: string;
  isAlive: boolean;
  pausedUntilMs: number;
  /** How far the clock of its machine is ahead. */
  readonly skewMs: number;
}

export interface Task {
  atMs: number;
  readonly order: number;
  readonly life: Life | undefined;
  run: (() => unknown) | undefined;
}

/** What a task returns when nothing waits for it: then nothing has to settle before the next one. */
export const nothingFollows = Symbol('nothing follows');

const resolved = Promise.resolve();

/** A seed takes some hundred; whoever wakes itself for ever never ends. */
const mostTasks = 20_000;

/** Virtual time: one task after the other, and those of the same moment in random order. */
export class Scheduler {
  nowMs: number;
  readonly #random: Random;
  readonly #heap: Task[] = [];
  tasks = 0;

  constructor(startMs: number, random: Random) {
    this.nowMs = startMs;
    this.#random = random;
  }

  after(delayMs: number, run: () => unknown, life?: Life): Task {
    if (Number.isNaN(delayMs)) throw new RangeError('a delay that is no number');
    const atMs = this.nowMs + Math.max(0, delayMs);
    const task: Task = { atMs, order: this.#random.next(), life, run };
    this.#push(task);
    return task;
  }

  /** Resolves after the time, unless the process that waits has died. */
  wait(delayMs: number, life?: Life): Promise<void> {
    return new Promise((resolve) => {
      this.after(delayMs, resolve, life);
    });
  }

  /**
   * Runs one task after another, each with all that follows from it at once, until the time or until `isEnough`.
   * @throws what a task throws, and Violation from one that wakes itself for ever
   */
  run(untilMs: number, isEnough: () => boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      // When everything that can go on without another task has done so: ticks come after all promises have settled, if they
      // are asked for from inside one.
      const goOnOnceSettled = (): void => process.nextTick(goOn);
      const goOn = (): void => {
        try {
          while (!isEnough()) {
            const task = this.#next(untilMs);
            if (!task) return resolve();
            if (task.run?.() !== nothingFollows) return void resolved.then(goOnOnceSettled);
          }
          resolve();
        } catch (thrown) {
          reject(thrown);
        }
      };
      goOn();
    });
  }

  #next(untilMs: number): Task | undefined {
    for (;;) {
      const [first] = this.#heap;
      if (!first || first.atMs > untilMs) {
        this.nowMs = Math.max(this.nowMs, untilMs);
        return undefined;
      }
      const task = this.#pop();
      const { life, run } = task;
      if (!run || (life && !life.isAlive)) continue;
      this.nowMs = Math.max(this.nowMs, task.atMs);
      if (life && life.pausedUntilMs > this.nowMs) {
        task.atMs = life.pausedUntilMs;
        this.#push(task);
        continue;
      }
      this.tasks++;
      if (this.tasks > mostTasks) throw new Violation('comes to rest', `still busy after ${mostTasks} steps`);
      return task;
    }
  }

  #isBefore(a: Task, b: Task): boolean {
    return a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order);
  }

  #push(task: Task): void {
    const heap = this.#heap;
    let at = heap.length;
    heap.push(task);
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!this.#isBefore(task, heap[parent]!)) break;
      heap[at] = heap[parent]!;
      at = parent;
    }
    heap[at] = task;
  }

  #pop(): Task {
    const heap = this.#heap;
    const first = heap[0]!;
    const last = heap.pop()!;
    if (heap.length === 0) return first;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && this.#isBefore(heap[child + 1]!, heap[child]!)) child++;
      if (!this.#isBefore(heap[child]!, last)) break;
      heap[at] = heap[child]!;
      at = child;
    }
    heap[at] = last;
    return first;
  }
}
