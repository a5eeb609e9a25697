const firstRetryMs = 1000;

export interface RepeatedChecks {
  /** Checks what is there from now on, and goes on from there. Resolves when that is done. */
  now(): Promise<void>;
  stop(): void;
}

/**
 * Repeats a check at an interval, one at a time; one that failed comes again after a second, then after two, and so on up to the
 * interval: servers that start again are soon there, and until it is done nobody knows what they act on.
 * @param check - resolves to whether all is well; never rejects
 */
export function repeatChecks(check: () => Promise<boolean>, intervalMs: number): RepeatedChecks {
  let timer: NodeJS.Timeout | undefined;
  let failures = 0;
  let isStopped = false;
  let isWantedAgain = false;
  let running: Promise<void> | undefined;

  async function run(): Promise<void> {
    isWantedAgain = false;
    failures = (await check()) ? 0 : failures + 1;
    if (isStopped) return;
    if (isWantedAgain) return run();
    running = undefined;
    const retryMs = firstRetryMs * 2 ** Math.min(failures - 1, 20);
    timer = setTimeout(() => void now(), failures === 0 ? intervalMs : Math.min(intervalMs, retryMs));
  }
  function now(): Promise<void> {
    clearTimeout(timer);
    isWantedAgain = running !== undefined;
    return (running ??= run());
  }
  return {
    now,
    stop() {
      isStopped = true;
      clearTimeout(timer);
    },
  };
}
