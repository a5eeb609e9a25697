import type { Logger, Metrics } from '@rollcall/shared/service';
import type { FloodFinding } from './flood-event.ts';
import type { HubClock } from '../engine/hub-clock.ts';

/** Written in one look; if more flood, they are found again by the next. */
const mostAtOnce = 20;

/** What it costs is a look at the record of the cluster; whether it is written again is said there. */
const lookAgainAfterMs = 30_000;

export interface FloodSettings {
  readonly windowMs: number;
  /** Heartbeats a second of one cluster, over a whole window. */
  readonly perSecond: number;
}

/**
 * Looks from time to time who sends heartbeats far too often. Counting costs a heartbeat nothing but one more number, so that a flood delays
 * nobody; what follows from it is not decided here.
 * @param options.found - called once for each flood, and again while it goes on: when it could not be written, and from time to time,
 *   because what was said may have been decided about since
 * @returns stops it
 */
export function watchFloods(options: {
  /** Who sent more than that since it was asked last. */
  takeFloods(most: number): { clusterId: string; heartbeats: number }[];
  clock: HubClock;
  logger: Logger;
  metrics: Metrics;
  settings: FloodSettings;
  found(finding: FloodFinding): Promise<void>;
}): () => void {
  const { takeFloods, clock, logger, metrics, settings, found } = options;
  const saidAtMs = new Map<string, number>();
  let sinceMs = clock.monotonicMs();

  function look(): void {
    const nowMs = clock.monotonicMs();
    const seconds = (nowMs - sinceMs) / 1000;
    sinceMs = nowMs;
    for (const [clusterId, atMs] of saidAtMs)
      if (nowMs >= atMs + lookAgainAfterMs) saidAtMs.delete(clusterId);
    const floods = takeFloods(settings.perSecond * seconds);
    metrics.gauge('rollcall_flooding_clusters', floods.length);
    for (const { clusterId, heartbeats } of floods
      .filter((flood) => !saidAtMs.has(flood.clusterId))
      .slice(0, mostAtOnce)) {
      saidAtMs.set(clusterId, nowMs);
      logger.warn({ clusterId, count: heartbeats }, 'an agent floods the hub with heartbeats');
      found({ clusterId, heartbeats, seconds, nowMs: clock.hubMs() }).catch(() => saidAtMs.delete(clusterId));
    }
  }

  const timer = setInterval(look, settings.windowMs);
  return () => clearInterval(timer);
}
