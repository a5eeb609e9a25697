import type { ClusterRow } from '../../../rows/index.ts';
import { type ShownFleet, type FleetChoice, showFleet } from './shown-fleet.ts';
import { workInSlices } from './work-in-slices.ts';

const isSame = (one: FleetChoice, other: FleetChoice): boolean =>
  one.at === other.at && one.query === other.query && one.by === other.by && one.sort === other.sort;

/** The view that is shown: of a small fleet it is there at once, of a large one the last one stays until the next is made. */
export class SlicedFleet {
  current = $state.raw<ShownFleet | undefined>();
  #choice: FleetChoice | undefined;
  #stop: (() => void) | undefined;
  /** Rows that came while a view is made wait: else a busy fleet would never be shown. */
  #next: readonly ClusterRow[] | undefined;

  show(rows: readonly ClusterRow[], choice: FleetChoice): void {
    if (this.#stop && this.#choice && isSame(this.#choice, choice)) {
      this.#next = rows;
      return;
    }
    this.stop();
    // What was is no view of what is.
    const isOtherMoment = this.#choice?.at !== choice.at;
    this.#choice = choice;
    let isDone = false;
    const stop = workInSlices(showFleet(rows, choice), (view) => {
      isDone = true;
      this.#stop = undefined;
      this.current = view;
      const next = this.#next;
      this.#next = undefined;
      if (next) this.show(next, choice);
    });
    if (isDone) return;
    this.#stop = stop;
    if (isOtherMoment) this.current = undefined;
  }

  stop(): void {
    this.#stop?.();
    [this.#stop, this.#next] = [undefined, undefined];
  }
}
