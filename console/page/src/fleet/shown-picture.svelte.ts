import type { ClusterRow } from '../../../rows/index.ts';
import { type FleetPicture, type FleetWish, pictureOfFleet } from './fleet-picture.ts';
import { workInSlices } from './work-in-slices.ts';

const isSame = (one: FleetWish, other: FleetWish): boolean =>
  one.at === other.at && one.query === other.query && one.by === other.by && one.sort === other.sort;

/** The picture that is shown: of a small fleet it is there at once, of a large one the last one stays until the next is made. */
export class ShownPicture {
  current = $state.raw<FleetPicture | undefined>();
  #wish: FleetWish | undefined;
  #stop: (() => void) | undefined;
  /** Rows that came while a picture is made wait: else a busy fleet would never be shown. */
  #next: readonly ClusterRow[] | undefined;

  show(rows: readonly ClusterRow[], wish: FleetWish): void {
    if (this.#stop && this.#wish && isSame(this.#wish, wish)) {
      this.#next = rows;
      return;
    }
    this.stop();
    // What was is no picture of what is.
    const isOtherMoment = this.#wish?.at !== wish.at;
    this.#wish = wish;
    let isDone = false;
    const stop = workInSlices(pictureOfFleet(rows, wish), (picture) => {
      isDone = true;
      this.#stop = undefined;
      this.current = picture;
      const next = this.#next;
      this.#next = undefined;
      if (next) this.show(next, wish);
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
