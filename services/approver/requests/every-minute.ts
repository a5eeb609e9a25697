import { toRollcallError } from '@rollcall/shared/errors';
import type { Logger } from '@rollcall/shared/service';

const minuteMs = 60_000;

/**
 * Does something at the start of every minute, so that a time window opens when the clock says so. What fails is logged and
 * done again a minute later; one that takes longer than a minute is not started twice.
 */
export function everyMinute(work: () => Promise<void>, logger: Logger): { stop(): Promise<void> } {
  let running: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;

  function plan(): void {
    if (isStopped) return;
    timer = setTimeout(
      () => {
        running = work()
          .catch((thrown: unknown) => {
            if (!isStopped)
              logger.warn({ err: toRollcallError(thrown) }, 'held requests will be judged again in a minute');
          })
          .finally(plan);
      },
      minuteMs - (Date.now() % minuteMs),
    );
  }

  plan();
  return {
    async stop() {
      isStopped = true;
      clearTimeout(timer);
      await running;
    },
  };
}
