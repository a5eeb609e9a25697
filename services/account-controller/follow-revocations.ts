import { inBatches } from '@rollcall/shared/decisions';
import type { Decision, StoredEvent } from '@rollcall/shared/events';
import { cutKeys, type CutWorld } from './cut-keys.ts';
import { pauseAfterMs } from './leave-batch-pause.ts';
import type { RevokedKeysReader } from './read-revoked-keys.ts';

/** Handles events: cuts each key that was taken back, and takes off the list what was given back. */
export function followRevocations(
  world: CutWorld,
  revokedKeys: Pick<RevokedKeysReader, 'mayGiveBack'>,
): (event: StoredEvent) => Promise<void> {
  let pauseMs = pauseAfterMs(0);
  const departures = inBatches(() => pauseMs);

  /** Its agent is told to go anyway. One push of claims for each of ten thousand would leave NATS no time for others. */
  async function cutLeaving(event: StoredEvent): Promise<void> {
    await departures();
    const fromMs = performance.now();
    await cutKeys(world, event);
    pauseMs = pauseAfterMs(performance.now() - fromMs);
  }
  return async (event) => {
    if (event.type === 'revoked') {
      const isLeaving = (event.section as Decision).verdict === 'leaving';
      return isLeaving ? cutLeaving(event) : cutKeys(world, event);
    }
    // Most approvals have nothing to take off the list.
    if (await revokedKeys.mayGiveBack(event)) await world.keepClaims();
  };
}
