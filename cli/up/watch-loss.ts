import { setTimeout as delay } from 'node:timers/promises';
import type { RunningService } from '@rollcall/shared/service';

const lookEveryMs = 250;

/** Whether the hub has lost its history, for as long as it runs: what Kubernetes shows is compared only some time after the start. */
export interface LossWatch {
  /** As a service says it now. */
  lost(): string | undefined;
  /** Resolves when it is found for the first time; never, where there is none. */
  readonly found: Promise<void>;
  /** Resolves when somebody has compared what Kubernetes shows, or the loss is found, or the time is over. */
  untilCompared(withinMs: number): Promise<void>;
  stop(): void;
}

/** @param tell - each loss once, and `undefined` when the history is whole again */
export function watchLoss(
  services: readonly Pick<RunningService, 'name' | 'notReady'>[],
  tell: (loss: string | undefined) => void,
): LossWatch {
  const { promise: found, resolve } = Promise.withResolvers<void>();
  let isTold = false;
  const lost = () =>
    services.map((service) => service.notReady()).find((why) => why?.startsWith('HISTORY_LOST'));

  function look(): void {
    const loss = lost();
    if ((loss !== undefined) === isTold) return;
    isTold = loss !== undefined;
    if (isTold) resolve();
    tell(loss);
  }
  look();
  const timer = setInterval(look, lookEveryMs);
  timer.unref();
  return {
    lost,
    found,
    async untilCompared(withinMs) {
      // It is not ready before it has compared (ADR 16).
      const projector = services.find(({ name }) => name === 'projector');
      const deadlineMs = performance.now() + withinMs;
      while (projector?.notReady() !== undefined && lost() === undefined && performance.now() < deadlineMs)
        await delay(lookEveryMs);
      look();
    },
    stop: () => clearInterval(timer),
  };
}
