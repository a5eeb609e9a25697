import { monitorEventLoopDelay, performance } from 'node:perf_hooks';
import type { Metrics } from './metrics.ts';

const resolutionMs = 20;
const nsPerSecond = 1e9;

/**
 * Figures of the process under the names that dashboards for any process know. Services that share a process show the same.
 * @returns how to stop measuring the event loop
 */
export function measureProcess(metrics: Metrics): () => void {
  const delay = monitorEventLoopDelay({ resolution: resolutionMs });
  delay.enable();
  const expectedNs = resolutionMs * 1e6;
  // Without an observation its figures are NaN or absurd.
  const lag = (ns: number) => (delay.count === 0 ? 0 : Math.max(0, ns - expectedNs) / nsPerSecond);
  metrics.gauge('process_start_time_seconds', performance.timeOrigin / 1000);
  metrics.beforeScrape(() => {
    const { user, system } = process.cpuUsage();
    metrics.total('process_cpu_seconds_total', (user + system) / 1e6);
    metrics.gauge('process_resident_memory_bytes', process.memoryUsage.rss());
    metrics.gauge('rollcall_event_loop_lag_seconds', lag(delay.mean), { at: 'mean' });
    metrics.gauge('rollcall_event_loop_lag_seconds', lag(delay.percentile(99)), { at: 'p99' });
    metrics.gauge('rollcall_event_loop_lag_seconds', lag(delay.max), { at: 'max' });
    delay.reset();
  });
  return () => delay.disable();
}
