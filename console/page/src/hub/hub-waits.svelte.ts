import type { DeadRow, OperationsRow } from '../../../rows/index.ts';
import { Reading } from '../live/reading.svelte.ts';

const readEveryMs = { operations: 10_000, dead: 60_000 } as const;

/** What waits in the hub itself for a person, on whatever page that person is. */
class HubWaits {
  readonly operations = new Reading<OperationsRow>('/api/hub/operations');
  readonly dead = new Reading<readonly DeadRow[]>('/api/hub/dead');

  /** What may not be read counts as nothing. */
  get count(): number {
    const { held } = this.operations.value ?? {};
    const letters = this.dead.value?.filter(({ isHeld }) => !isHeld) ?? [];
    return (held?.operations.length ?? 0) + letters.length;
  }

  /** @returns how to end it */
  watch(): () => void {
    const ends = [this.operations.readEvery(readEveryMs.operations), this.dead.readEvery(readEveryMs.dead)];
    return () => ends.forEach((end) => end());
  }
}

export const hubWaits = new HubWaits();
