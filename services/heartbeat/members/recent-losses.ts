import { isRecent, type Liveness } from '@rollcall/shared/events';

export interface FlapSettings {
  /** So many losses within the window are flapping. */
  readonly losses: number;
  readonly windowMs: number;
}

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
  const recent = (before?.lossesAtMs ?? []).filter((atMs) =>
    isRecent(atMs, { nowMs, withinMs: flap.windowMs }),
  );
  return [...recent, ...(isLoss ? [nowMs] : [])].slice(-flap.losses);
}
