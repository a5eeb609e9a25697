import type { Random } from './random.ts';
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
  run: (() => void) | undefined;
}

/** Resolves when everything that can go on without another task has done so: ticks come after all promises have settled. */
function settled(): Promise<void> {
  return new Promise((resolve) => {
    // From inside a microtask: only then it waits for all the others.
    void Promise.resolve().then(() => process.nextTick(resolve));
  });
}

/** Virtual time: one task after the other, and those of the same moment in random order. */
/** A seed takes about a thousand; whoever wakes itself for ever never ends. */
const mostTasks = 100_000;

export class Scheduler {
  nowMs: number;
  readonly #random: Random;
  readonly #heap: Task[] = [];
  tasks = 0;

  constructor(startMs: number, random: Random) {
    this.nowMs = startMs;
    this.#random = random;
  }

  after(delayMs: number, run: () => void, life?: Life): Task {
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

  /** Runs the next task and all that follows from it at once. @returns false when there is none until `untilMs` */
  async step(untilMs: number): Promise<boolean> {
    const [first] = this.#heap;
    if (!first || first.atMs > untilMs) {
      this.nowMs = Math.max(this.nowMs, untilMs);
      return false;
    }
    const task = this.#pop();
    const { life, run } = task;
    if (!run || (life && !life.isAlive)) return true;
    this.nowMs = Math.max(this.nowMs, task.atMs);
    if (life && life.pausedUntilMs > this.nowMs) {
      task.atMs = life.pausedUntilMs;
      this.#push(task);
      return true;
    }
    this.tasks++;
    if (this.tasks > mostTasks) throw new Violation('comes to rest', `still busy after ${mostTasks} steps`);
    run();
    await settled();
    return true;
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
