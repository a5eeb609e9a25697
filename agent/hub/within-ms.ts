import { setTimeout as delay } from 'node:timers/promises';

/** The result if it comes in time, else undefined: also when it fails. */
export async function withinMs<T>(work: Promise<T>, timeoutMs: number): Promise<T | undefined> {
  const timer = new AbortController();
  const late = delay(timeoutMs, undefined, { signal: timer.signal }).catch(() => undefined);
  try {
    return await Promise.race([work.catch(() => undefined), late]);
  } finally {
    timer.abort();
  }
}
