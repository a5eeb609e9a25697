import { pauseAfterMs } from '../../services/account-controller/leave-batch-pause.ts';
import { inTurn, type World } from './world.ts';

/** Takes a key back. @param then - once the last server has compared all of its connections with the new claims */
export type KeyCutter = (then: () => void) => void;

/** A server looks through its connections on one core; in so many pieces here, so that other work comes in between. */
const pieces = 100;

/** What one push of claims takes of one core of each server. */
export function claimsPushMs({ clusters, numbers }: Pick<World, 'clusters' | 'numbers'>): number {
  return (clusters / numbers.natsServers) * numbers.natsClaimsPushMs;
}

function pushClaims(world: World, then: () => void): void {
  const { claims } = world;
  const wholeMs = claimsPushMs(world);
  const pieceMs = wholeMs / pieces;
  let left = claims.length;
  for (const process of claims) {
    inTurn(
      pieces,
      (next) => process.submit(pieceMs, { whenOver: next }),
      () => {
        left--;
        if (left === 0) then();
      },
    );
  }
}

/** Keys go in batches, as the account-controller has it: one push for all that came since the one before, and a pause. */
export function createKeyCutter(world: World): KeyCutter {
  const { timeline } = world;
  let waiting: (() => void)[] = [];
  let isPushing = false;

  function push(): void {
    const batch = waiting;
    waiting = [];
    const sinceMs = timeline.nowMs();
    pushClaims(world, () => {
      for (const done of batch) done();
      timeline.after(pauseAfterMs(timeline.nowMs() - sinceMs), () => {
        if (waiting.length > 0) return push();
        isPushing = false;
      });
    });
  }

  return (then) => {
    waiting.push(then);
    if (isPushing) return;
    isPushing = true;
    push();
  };
}
