import { AsyncLocalStorage } from 'node:async_hooks';
import nodeCrypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import timersPromises from 'node:timers/promises';
import { createRandom, type Random } from '../../cli/simulate/random.ts';
import type { Life, Scheduler, Task } from './scheduler.ts';
import { installStandInKeys } from './stand-in-keys.ts';

/** In whose name code runs: its clock, and whether what it waits for still comes. */
const lives = new AsyncLocalStorage<Life>();

export function inLife<Result>(life: Life, run: () => Result): Result {
  return lives.run(life, run);
}

let current: { scheduler: Scheduler; random: Random } | undefined;

/** From here on the clock, the timers and the random numbers of this process are those of the simulated world. */
export function enterWorld(scheduler: Scheduler, random: Random): void {
  current = { scheduler, random };
}

/** What is made once, before the first seed. */
const outside = createRandom(0);
const randomNow = (): Random => current?.random ?? outside;

function world() {
  if (!current) throw new Error('there is no simulated world yet');
  return current;
}

/** What services hold of a timer. */
class VirtualTimer {
  readonly task: Task;
  constructor(task: Task) {
    this.task = task;
  }
  ref() {
    return this;
  }
  unref() {
    return this;
  }
  hasRef() {
    return true;
  }
}

function setVirtualTimeout(run: (...args: unknown[]) => void, delayMs = 0, ...args: unknown[]): VirtualTimer {
  const life = lives.getStore();
  const inside = () => (life ? lives.run(life, run, ...args) : run(...args));
  return new VirtualTimer(world().scheduler.after(Math.max(1, delayMs), inside, life));
}

function clearVirtualTimeout(timer: unknown): void {
  if (timer instanceof VirtualTimer) timer.task.run = undefined;
}

function delayVirtually(
  delayMs = 1,
  value?: unknown,
  options: { signal?: AbortSignal } = {},
): Promise<unknown> {
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  const { signal } = options;
  if (signal?.aborted) return Promise.reject(new DOMException('aborted', 'AbortError'));
  const timer = setVirtualTimeout(() => resolve(value), delayMs);
  signal?.addEventListener(
    'abort',
    () => {
      clearVirtualTimeout(timer);
      reject(new DOMException('aborted', 'AbortError'));
    },
    { once: true },
  );
  return promise;
}

function virtualBytes(length: number): Buffer {
  const bytes = Buffer.alloc(length);
  const random = randomNow();
  for (let at = 0; at < length; at += 4) {
    let word = Math.floor(random.next() * 2 ** 32);
    for (let byte = at; byte < length && byte < at + 4; byte++, word >>>= 8) bytes[byte] = word;
  }
  return bytes;
}

/**
 * Replaces what makes a process differ from run to run: clock, timers, random numbers, and signatures (only because they
 * take nine tenths of the time). For a process that does nothing else: it cannot be undone.
 */
export function virtualizeProcess(): void {
  Date.now = () => Math.floor((current?.scheduler.nowMs ?? 0) + (lives.getStore()?.skewMs ?? 0));
  performance.now = () => current?.scheduler.nowMs ?? 0;
  Math.random = () => randomNow().next();
  Object.assign(globalThis, {
    setTimeout: setVirtualTimeout,
    clearTimeout: clearVirtualTimeout,
    setInterval: () => {
      throw new Error('nothing in the simulation may repeat for ever by itself');
    },
  });
  Object.assign(timersPromises, { setTimeout: delayVirtually });
  Object.assign(nodeCrypto, {
    randomBytes: virtualBytes,
    randomUUID: () => virtualBytes(16).toString('hex'),
  });
  installStandInKeys();
  syncBuiltinESMExports();
}
