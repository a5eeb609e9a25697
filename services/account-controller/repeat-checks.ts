const firstRetryMs = 1000;

export interface RepeatedChecks {
  /** Checks, and goes on from there. Resolves when it is done. */
  now(): Promise<void>;
  stop(): void;
}

/**
 * Repeats a check at an interval; one that failed comes again after a second, then after two, and so on up to the interval: servers
 * that start again are soon there, and until it is done nobody knows what they act on.
 * @param check - resolves to whether all is well; never rejects
 */
export function repeatChecks(check: () => Promise<boolean>, intervalMs: number): RepeatedChecks {
  let timer: NodeJS.Timeout | undefined;
  let failures = 0;
  let isStopped = false;

  async function now(): Promise<void> {
    clearTimeout(timer);
    const isWell = await check();
    failures = isWell ? 0 : failures + 1;
    const retryMs = Math.min(intervalMs, firstRetryMs * 2 ** Math.min(failures - 1, 20));
    clearTimeout(timer);
    if (!isStopped) timer = setTimeout(() => void now(), isWell ? intervalMs : retryMs);
  }
  return {
    now,
    stop() {
      isStopped = true;
      clearTimeout(timer);
    },
  };
}
