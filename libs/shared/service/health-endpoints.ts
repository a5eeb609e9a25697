import { createServer, type Server } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { RollcallError } from '@rollcall/shared/errors';
import { openMetricsContentType } from './metrics/open-metrics.ts';

export interface HealthOptions {
  readonly port: number;
  /** Loopback, but for a pod whose kubelet and Prometheus come from outside; no secret is served. */
  readonly address: string;
  /** Why the service is not ready, or undefined when it is. */
  notReady(): string | undefined;
  /** What a ready service has to do without, or undefined. */
  degraded?(): string | undefined;
  /** In OpenMetrics text. */
  metrics(): string;
}

interface Answer {
  readonly status: number;
  readonly type?: string;
  readonly body: string;
}

function answerTo(path: string, options: HealthOptions): Answer {
  switch (path) {
    case '/livez':
      return { status: 200, body: 'ok\n' };
    case '/readyz': {
      const why = options.notReady();
      if (why !== undefined) return { status: 503, body: why };
      const without = options.degraded?.();
      return { status: 200, body: without === undefined ? 'ok\n' : `ok, degraded: ${without}\n` };
    }
    case '/metrics':
      return { status: 200, type: openMetricsContentType, body: options.metrics() };
    default:
      return { status: 404, body: 'not found; try /livez, /readyz or /metrics\n' };
  }
}

/**
 * `/livez` says only that the loop turns, never that NATS is there: restarting us does not mend NATS.
 * @throws RollcallError PORT_BUSY
 */
export async function serveHealth(options: HealthOptions): Promise<{ server: Server; port: number }> {
  const server = createServer((request, response) => {
    const { status, type = 'text/plain', body } = answerTo(request.url ?? '', options);
    response.writeHead(status, { 'content-type': type }).end(body);
  });
  server.listen(options.port, options.address);
  try {
    await once(server, 'listening');
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new RollcallError('PORT_BUSY', `cannot listen on ${options.address} port ${options.port}: ${why}`, {
      cause,
    });
  }
  return { server, port: (server.address() as AddressInfo).port };
}
