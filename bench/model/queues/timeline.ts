/** Simulated time: what happens next, and nothing of the machine's own clock. */
export interface Timeline {
  nowMs(): number;
  /** Of two at the same moment the one that was laid down first comes first. */
  at(atMs: number, what: () => void): void;
  after(ms: number, what: () => void): void;
  /** Until nothing is left, or up to that moment; then it is that moment. */
  run(untilMs?: number): void;
}

interface Entry {
  readonly atMs: number;
  readonly order: number;
  readonly what: () => void;
}

const isBefore = (one: Entry, other: Entry) =>
  one.atMs < other.atMs || (one.atMs === other.atMs && one.order < other.order);

/** A binary heap: a million agents that wait are twenty comparisons each. */
export function createTimeline(): Timeline {
  const heap: Entry[] = [];
  let now = 0;
  let laidDown = 0;

  function push(entry: Entry): void {
    let place = heap.length;
    heap.push(entry);
    while (place > 0) {
      const above = (place - 1) >> 1;
      const parent = heap[above];
      if (parent === undefined || !isBefore(entry, parent)) break;
      heap[place] = parent;
      place = above;
    }
    heap[place] = entry;
  }

  function pop(): Entry | undefined {
    const first = heap[0];
    const last = heap.pop();
    if (first === undefined || last === undefined || heap.length === 0) return first;
    let place = 0;
    for (;;) {
      let below = 2 * place + 1;
      let child = heap[below];
      if (child === undefined) break;
      const right = heap[below + 1];
      if (right !== undefined && isBefore(right, child)) {
        child = right;
        below++;
      }
      if (!isBefore(child, last)) break;
      heap[place] = child;
      place = below;
    }
    heap[place] = last;
    return first;
  }

  function at(atMs: number, what: () => void): void {
    push({ atMs: Math.max(now, atMs), order: laidDown++, what });
  }

  return {
    nowMs: () => now,
    at,
    after: (ms, what) => at(now + ms, what),
    run(untilMs = Number.POSITIVE_INFINITY) {
      for (let next = heap[0]; next !== undefined && next.atMs <= untilMs; next = heap[0]) {
        pop();
        now = next.atMs;
        next.what();
      }
      if (heap.length > 0) now = Math.max(now, untilMs);
    },
  };
}
