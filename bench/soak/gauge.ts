/**
 * Preloaded into a service of the soak (`node --import '…/gauge.ts?file=FILE' …`): at SIGUSR2 it collects garbage, and FILE then says
 * what is left.
 */
import { renameSync, writeFileSync } from 'node:fs';
import { queryObjects, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { isMainThread } from 'node:worker_threads';

/** What a process says of itself after a collection. */
export interface GaugeReading {
  readonly asked: number;
  readonly heapBytes: number;
  /** What the heap has of the system, used or not, and what objects of it have outside of it. */
  readonly committedBytes: number;
  readonly externalBytes: number;
  /** Everything that `setTimeout` and `setInterval` made and somebody holds. */
  readonly timers: number;
}

const file = new URL(import.meta.url).searchParams.get('file') ?? '';
let asked = 0;

// A thread of it has no signals.
if (isMainThread) {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const sample = setTimeout(() => undefined, 0);
  const Timer = sample.constructor as new () => object;
  clearTimeout(sample);
  process.on('SIGUSR2', () => {
    collect();
    const timers = queryObjects(Timer, { format: 'count' }) as number;
    const { heapUsed: heapBytes, heapTotal: committedBytes, external: externalBytes } = process.memoryUsage();
    const reading: GaugeReading = { asked: ++asked, heapBytes, committedBytes, externalBytes, timers };
    // Whole or not at all: the soak may be reading.
    writeFileSync(`${file}.new`, JSON.stringify(reading));
    renameSync(`${file}.new`, file);
  });
}
