import type { Metrics, MetricsRegistry } from '@rollcall/shared/service';
import type { NoticeWatch } from '../connections/watch-notices.ts';
import { livenessStates } from '../engine/cluster-table.ts';
import type { FleetSnapshot } from '../engine/fleet-snapshot.ts';
import type { IntervalInForce } from '../interval/decide-interval.ts';
import type { HeartbeatPartition } from '../members/heartbeat-partition.ts';
import type { HeartbeatReceiver } from '../receive/receive-heartbeats.ts';

/**
 * The service's figures: as metrics whenever they are asked for, and the most telling ones for `$SRV.STATS`.
 * @returns those
 */
export function reportFigures(
  metrics: Pick<Metrics, 'gauge' | 'total'> & Pick<MetricsRegistry, 'beforeScrape'>,
  sources: {
    snapshot: FleetSnapshot;
    received: HeartbeatReceiver['counts'];
    inForce(): IntervalInForce;
    notices: Pick<NoticeWatch, 'missing'>;
    partition: HeartbeatPartition | undefined;
  },
): () => Record<string, number> {
  const { snapshot, received, partition } = sources;
  const { number: part, count: parts } = partition ?? { number: 0, count: 1 };
  const ofPart = { part: String(part), of: String(parts) };
  const signals = () => (sources.notices.missing() === undefined ? 2 : 1);
  const outage = () => (snapshot.inOutage ? 1 : 0);
  metrics.beforeScrape(() => {
    for (const state of livenessStates)
      metrics.gauge('rollcall_liveness_clusters', snapshot.countOf(state), { state, ...ofPart });
    metrics.total('rollcall_heartbeats_total', received.taken, ofPart);
    metrics.total('rollcall_heartbeats_unknown_total', received.unknown, ofPart);
    metrics.total('rollcall_heartbeats_malformed_total', received.malformed, ofPart);
    metrics.gauge('rollcall_heartbeat_interval_multiplier', sources.inForce().multiplier);
    metrics.gauge('rollcall_liveness_signals', signals());
    metrics.gauge('rollcall_outage', outage());
  });
  return () => ({
    part,
    parts,
    clustersNeverSeen: snapshot.countOf('neverSeen'),
    clustersReady: snapshot.countOf('ready'),
    clustersSuspect: snapshot.countOf('suspect'),
    clustersUnreachable: snapshot.countOf('unreachable'),
    clustersStopped: snapshot.countOf('stopped'),
    clustersMemberDown: snapshot.countOf('memberDown'),
    clustersFlapping: snapshot.countOf('flapping'),
    heartbeats: received.taken,
    outage: outage(),
    intervalMultiplier: sources.inForce().multiplier,
    signals: signals(),
  });
}
