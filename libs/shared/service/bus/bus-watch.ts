import type { NatsConnection } from '@nats-io/transport-node';
import { toRollcallError } from '@rollcall/shared/errors';
import type { Logger } from '../log.ts';
import type { Metrics } from '../metrics/metrics.ts';

/** Follows what happens to a connection: it mends itself, so somebody has to say when it is away, and what was refused. */
export function watchBus(
  nc: Pick<NatsConnection, 'status' | 'isClosed'>,
  logger: Pick<Logger, 'info' | 'warn'>,
  metrics: Metrics,
): { isConnected(): boolean } {
  let isUp = true;
  metrics.beforeScrape(() => metrics.gauge('rollcall_bus_connected', isUp && !nc.isClosed() ? 1 : 0));
  async function watch(): Promise<void> {
    for await (const status of nc.status()) {
      if (status.type === 'disconnect' || status.type === 'staleConnection') {
        isUp = false;
        logger.warn({}, 'connection to the bus lost');
      } else if (status.type === 'reconnect') {
        isUp = true;
        metrics.count('rollcall_bus_reconnects_total');
        logger.info({}, 'connected to the bus again');
      } else if (status.type === 'error') {
        logger.warn({ err: toRollcallError(status.error) }, 'the bus refused something');
      }
    }
  }
  void watch();
  return { isConnected: () => isUp && !nc.isClosed() };
}
