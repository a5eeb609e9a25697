import type { EventLog } from '@rollcall/shared/bus';
import type { Logger, Metrics } from '@rollcall/shared/service';
import { writeFlood } from './heartbeat-flood-event.ts';
import type { HeardFlood } from '../engine/liveness-signals.ts';
import type { HubClock } from '../engine/hub-clock.ts';
import type { SideWrites } from '../write/background-writes.ts';

/** Written in one look; if more flood, they are found again by the next. */
const mostAtOnce = 20;

/** What it costs is a look at the record of the cluster; whether it is written again is said there. */
const lookAgainAfterMs = 30_000;

export interface FloodSettings {
  readonly windowMs: number;
  /** Heartbeats a second of one cluster, over a whole window. */
  readonly perSecond: number;
}

/** Who sent more than that since it was asked last, or has more connections than any agent. */
interface HeartbeatCounts {
  takeFloods(most: number): HeardFlood[];
}

/**
 * Looks from time to time who sends heartbeats far too often. Counting costs a heartbeat nothing but one more number, so that a flood delays
 * nobody; what follows from it is not decided here. Each flood is written once, and again while it goes on: when it could not be written, and
 * from time to time, because what was said may have been decided about since.
 * @returns stops it
 */
export function watchFloods(options: {
  counts: readonly HeartbeatCounts[];
  log: EventLog;
  aside: SideWrites;
  clock: HubClock;
  logger: Logger;
  metrics: Metrics;
  settings: FloodSettings;
}): () => void {
  const { counts, log, aside, clock, logger, metrics, settings } = options;
  const saidAtMs = new Map<string, number>();
  let sinceMs = clock.monotonicMs();

  function look(): void {
    const nowMs = clock.monotonicMs();
    const seconds = (nowMs - sinceMs) / 1000;
    sinceMs = nowMs;
    for (const [clusterId, atMs] of saidAtMs)
      if (nowMs >= atMs + lookAgainAfterMs) saidAtMs.delete(clusterId);
    const floods = counts.flatMap((each) => each.takeFloods(settings.perSecond * seconds));
    metrics.gauge('rollcall_flooding_clusters', floods.length);
    for (const { clusterId, heartbeats, connections } of floods
      .filter((flood) => !saidAtMs.has(flood.clusterId))
      .slice(0, mostAtOnce)) {
      saidAtMs.set(clusterId, nowMs);
      const what = connections === undefined ? 'heartbeats' : 'connections';
      logger.warn({ clusterId, count: connections ?? heartbeats }, `an agent floods the hub with ${what}`);
      const found = { clusterId, heartbeats, connections, seconds, nowMs: clock.hubMs() };
      const writing = writeFlood(log, found);
      aside.write(writing, 'a flood could not be written');
      writing.catch(() => saidAtMs.delete(clusterId));
    }
  }

  const timer = setInterval(look, settings.windowMs);
  return () => clearInterval(timer);
}
