import { setTimeout as delay } from 'node:timers/promises';

/** Waits for work, but not longer than that; work that is late is left alone, and its later failure with it. */
export async function within(deadlineMs: number, work: Promise<void> | undefined): Promise<void> {
  const timer = new AbortController();
  const deadline = delay(deadlineMs, undefined, { signal: timer.signal }).catch(() => undefined);
  try {
    await Promise.race([work, deadline]);
  } finally {
    timer.abort();
  }
}
