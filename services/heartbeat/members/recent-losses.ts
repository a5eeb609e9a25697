import type { Liveness } from '@rollcall/shared/events';

export interface FlapSettings {
  /** So many losses within the window are flapping. */
  readonly losses: number;
  readonly windowMs: number;
}

/** Two replicas do not have the same time to the millisecond; but what a clock wrote that was wrong is not to count until it was right. */
const aheadMs = 5000;

/**
 * When the cluster was lost lately, oldest first. An outage is not its own fault, and no loss; a goodbye is one, or an agent
 * that starts and stops without end would fill the history.
 * @param isLoss - it is lost now
 */
export function lossesAfter(
  before: Liveness | undefined,
  isLoss: boolean,
  { nowMs, flap }: { nowMs: number; flap: FlapSettings },
): number[] {
  const recent = (before?.lossesAtMs ?? []).filter(
    (atMs) => atMs > nowMs - flap.windowMs && atMs <= nowMs + aheadMs,
  );
  return [...recent, ...(isLoss ? [nowMs] : [])].slice(-flap.losses);
}
