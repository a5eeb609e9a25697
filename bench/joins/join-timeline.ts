import type { StoredEvent } from '@rollcall/shared/events';
import { type AuditWrite, isOfCluster } from '../report/audit-writes.ts';
import type { Sighting } from '../hub/cluster-watch.ts';
import { describeWrite } from '../report/count-writes.ts';
import type { Join } from './measure-joins.ts';
import { quantile } from '../../cli/simulate/report/quantile.ts';

interface Moment {
  readonly atMs: number;
  readonly who: string;
  readonly what: string;
}

function tookMs({ readyAtMs, startedAtMs }: Join): number {
  return readyAtMs - startedAtMs;
}

/** The join that took as long as the median. */
export function middleJoin(joins: readonly Join[]): Join | undefined {
  const medianMs = quantile(joins.map(tookMs), 0.5);
  return joins.find((one) => tookMs(one) === medianMs);
}

/**
 * What happened when in one join: the agent's own steps, the events as their writers dated them (whole ms), the writes that the
 * API server answered with the time they took, and what a watch showed.
 */
export function joinTimeline(
  { cluster, startedAtMs, agentLines }: Pick<Join, 'cluster' | 'startedAtMs' | 'agentLines'>,
  seen: {
    events: readonly StoredEvent[];
    writes: readonly AuditWrite[];
    sightings: readonly Sighting[];
  },
): string {
  const moments: Moment[] = [
    { atMs: startedAtMs, who: 'bench', what: 'starts the agent process' },
    ...agentLines.map(({ atMs, step, message }) => ({ atMs, who: 'agent', what: `${step}: ${message}` })),
    ...seen.events
      .filter(({ id, kind }) => kind === 'cluster' && id === cluster)
      .map(({ timeMs, type, source }) => ({ atMs: timeMs, who: 'event', what: `${type} (${source})` })),
    ...seen.writes
      .filter((write) => isOfCluster(write, cluster) && write.receivedAtMs >= startedAtMs)
      .map((write) => ({
        atMs: write.receivedAtMs,
        who: 'write',
        what: `${describeWrite(write)}, took ${(write.repliedAtMs - write.receivedAtMs).toFixed(1)} ms`,
      })),
    ...seen.sightings
      .filter(({ object }) => object.endsWith(`/${cluster}`))
      .map(({ atMs, object, shows }) => ({ atMs, who: 'watch', what: `${object} ${shows}` })),
  ];
  return moments
    .toSorted((a, b) => a.atMs - b.atMs)
    .map(
      ({ atMs, who, what }) => `${(atMs - startedAtMs).toFixed(1).padStart(8)} ms  ${who.padEnd(6)} ${what}`,
    )
    .join('\n');
}
