import { isRecent, type Liveness, type LivenessState } from '@rollcall/shared/events';
import { isHeard, type LivenessCause } from '../engine/judge-liveness.ts';

type StoredState = Exclude<LivenessState, 'neverSeen'>;

export interface FlapSettings {
  /** So many losses within the window are flapping. */
  readonly losses: number;
  readonly windowMs: number;
}

/** A change of state as it was judged, before what the losses before make of it. */
export interface JudgedChange {
  /** The state it was judged from. A record that says another has moved on, and the change is an old one. */
  readonly from: LivenessState;
  readonly state: StoredState;
  readonly cause: LivenessCause;
  readonly nowMs: number;
  readonly flap: FlapSettings;
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

const comesBackFrom = new Set<LivenessState>(['suspect', 'unreachable', 'memberDown', 'stopped']);

/** A cluster that comes back and was lost too often before is flapping (how that ends: engine/judge-liveness.ts). */
export function withFlapping(
  before: Liveness | undefined,
  change: JudgedChange,
): { state: StoredState; cause: LivenessCause; losses: readonly number[] } {
  const { from, state, cause, flap } = change;
  const isLoss =
    (state === 'suspect' && cause !== 'OutageHeld') ||
    (state === 'memberDown' && from === 'ready') ||
    (state === 'stopped' && isHeard(from) && from !== 'flapping');
  const losses = lossesAfter(before, isLoss, change);
  const isBack = (state === 'ready' || state === 'memberDown') && comesBackFrom.has(from);
  if (isBack && losses.length >= flap.losses) return { state: 'flapping', cause: 'Flapping', losses };
  // It has been steady for long enough: a new count begins.
  return { state, cause, losses: from === 'flapping' && state === 'ready' ? [] : losses };
}
