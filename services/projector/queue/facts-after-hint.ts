import type { FactStore } from '@rollcall/shared/bus';

/** The newest ones of this process come back in milliseconds; a server that is far behind is not asked all the time. */
const firstLookAgainMs = 100;
const longestLookAgainMs = 30_000;
/** A server that has not caught up by then has other troubles; the next facts, within an hour, are shown again. */
const patienceMs = 10 * 60_000;

interface Awaited {
  readonly sequence: number;
  readonly sinceMs: number;
  lookAgainMs: number;
  timer: NodeJS.Timeout | undefined;
}

export interface FactsAsHeard extends Pick<FactStore, 'get'> {
  /** Facts of that sequence of stream FACTS are stored, on one of its servers at least. */
  heard(clusterId: string, sequence: number): void;
  /** @param again - is called for each cluster of which what was given was too old, after a while */
  lookAgainBy(again: (clusterId: string) => void): void;
  stop(): void;
}

/**
 * The facts of clusters, for a projection that is made when a hint says that there are new ones: the hint is heard before all servers
 * have stored them, and whichever is asked answers. Whoever is given older ones than were heard of is told to look again.
 */
export function factsAsHeard(facts: Pick<FactStore, 'get'>, { nowMs }: { nowMs(): number }): FactsAsHeard {
  const awaited = new Map<string, Awaited>();
  let isStopped = false;
  let again: ((clusterId: string) => void) | undefined;

  function lookLater(clusterId: string, one: Awaited): void {
    if (one.timer !== undefined || isStopped) return;
    one.timer = setTimeout(() => {
      one.timer = undefined;
      if (awaited.get(clusterId) === one) again?.(clusterId);
    }, one.lookAgainMs);
    one.timer.unref();
    one.lookAgainMs = Math.min(2 * one.lookAgainMs, longestLookAgainMs);
  }

  return {
    heard(clusterId, sequence) {
      if ((awaited.get(clusterId)?.sequence ?? 0) >= sequence) return;
      awaited.set(clusterId, {
        sequence,
        sinceMs: nowMs(),
        lookAgainMs: firstLookAgainMs,
        timer: undefined,
      });
    },
    lookAgainBy(by) {
      again = by;
    },
    async get(clusterId) {
      const found = await facts.get(clusterId);
      const one = awaited.get(clusterId);
      if (!one) return found;
      const isThere = (found?.sequence ?? 0) >= one.sequence;
      if (isThere || nowMs() - one.sinceMs > patienceMs) awaited.delete(clusterId);
      else lookLater(clusterId, one);
      return found;
    },
    stop() {
      isStopped = true;
      for (const { timer } of awaited.values()) clearTimeout(timer);
      awaited.clear();
    },
  };
}
