import { toRollcallError } from '@rollcall/shared/errors';
import type { Logger } from '@rollcall/shared/service';

/** Who was away for longer than a minute asks when it is back (agent/session/joining.ts). */
const againAfterMs = 65_000;

export interface SettingsTeller {
  /** Tells a member what changed about it: at once, and once more for the case that its connection was just ending. */
  tell(clusterId: string): Promise<void>;
  stop(): void;
}

/**
 * What is said to a member that is not connected at that moment is lost, and its agent asks for itself once an hour only.
 * @param tellNow - what its record says now; rejects while the bus is away
 */
export function createSettingsTeller(
  tellNow: (clusterId: string) => Promise<void>,
  { logger }: { logger: Pick<Logger, 'warn'> },
): SettingsTeller {
  /** Who is told again when, in this order. */
  const againAtMs = new Map<string, number>();
  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;

  function later(clusterId: string): void {
    if (isStopped) return;
    againAtMs.delete(clusterId);
    againAtMs.set(clusterId, performance.now() + againAfterMs);
    timer ??= setTimeout(() => void tellDue(), againAfterMs);
  }

  async function tellDue(): Promise<void> {
    for (const [clusterId, atMs] of againAtMs) {
      if (isStopped || atMs > performance.now()) break;
      againAtMs.delete(clusterId);
      try {
        await tellNow(clusterId);
      } catch (thrown) {
        const err = toRollcallError(thrown);
        logger.warn({ err, clusterId }, 'a member was not told again what changed about it');
        if (err.code === 'BUS_UNREACHABLE') later(clusterId);
      }
    }
    const [nextAtMs] = againAtMs.values();
    timer = undefined;
    if (nextAtMs === undefined || isStopped) return;
    timer = setTimeout(() => void tellDue(), Math.max(0, nextAtMs - performance.now()));
  }

  return {
    async tell(clusterId) {
      await tellNow(clusterId);
      later(clusterId);
    },
    stop() {
      isStopped = true;
      clearTimeout(timer);
    },
  };
}
