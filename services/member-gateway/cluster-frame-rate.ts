/** What one cluster may say in a second. An agent of ours says what it reads in pieces as large as they come. */
const mostASecond = 20_000;
/** So long nothing is opened to a cluster that said more. */
const restMs = 10_000;

export interface FrameBudget {
  /**
   * Counts a frame that came. One of a stream is held back by the window of that, and costs 1; any other one nobody asked for, and
   * costs more, by its size.
   * @returns whether the cluster has said more than it may, now or a moment ago
   */
  spend(clusterId: string, frame: { readonly isOfStream: boolean; readonly bytes: number }): boolean;
  isOver(clusterId: string): boolean;
  /** Forgets what is long past. */
  tidy(): void;
}

/** Frames of each cluster, second by second. A clock that nobody sets. */
export function createFrameBudget(): FrameBudget {
  const spent = new Map<string, { second: number; places: number }>();
  const restsUntilMs = new Map<string, number>();
  const isOver = (clusterId: string) => (restsUntilMs.get(clusterId) ?? 0) > performance.now();
  return {
    isOver,
    spend(clusterId, { isOfStream, bytes }) {
      const second = Math.floor(performance.now() / 1000);
      let own = spent.get(clusterId);
      if (own?.second !== second) {
        own = { second, places: 0 };
        spent.set(clusterId, own);
      }
      own.places += isOfStream ? 1 : 5 + bytes / 1024;
      if (own.places > mostASecond) restsUntilMs.set(clusterId, performance.now() + restMs);
      return isOver(clusterId);
    },
    tidy() {
      const nowMs = performance.now();
      for (const [clusterId, { second }] of spent) if (second < nowMs / 1000 - 1) spent.delete(clusterId);
      for (const [clusterId, untilMs] of restsUntilMs) if (untilMs <= nowMs) restsUntilMs.delete(clusterId);
    },
  };
}
