import { createServer, type Server } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { RollcallError } from '@rollcall/shared/errors';

export interface HealthOptions {
  readonly port: number;
  /** Why the service is not ready, or undefined when it is. */
  notReady(): string | undefined;
  metrics(): string;
}

/**
 * `/livez` says only that the loop turns, never that NATS is there: restarting us does not mend NATS. Loopback only.
 * @throws RollcallError PORT_BUSY
 */
export async function serveHealth(options: HealthOptions): Promise<{ server: Server; port: number }> {
  const server = createServer((request, response) => {
    const why = request.url === '/readyz' ? options.notReady() : undefined;
    const body = { '/livez': 'ok\n', '/readyz': why ?? 'ok\n', '/metrics': options.metrics() }[
      request.url ?? ''
    ];
    response.writeHead(body === undefined ? 404 : why === undefined ? 200 : 503, {
      'content-type': 'text/plain',
    });
    response.end(body ?? 'not found; try /livez, /readyz or /metrics\n');
  });
  server.listen(options.port, '127.0.0.1');
  try {
    await once(server, 'listening');
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new RollcallError('PORT_BUSY', `cannot listen on port ${options.port}: ${why}`, { cause });
  }
  return { server, port: (server.address() as AddressInfo).port };
}
