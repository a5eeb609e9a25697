import type { AddressInfo } from 'node:net';
import type { ServerType } from '@hono/node-server';
import { RollcallError } from '@rollcall/shared/errors';

/**
 * @returns the port
 * @throws RollcallError USAGE where it cannot be had
 */
export function listenOn(
  server: ServerType,
  { address, port }: { address: string; port: number },
): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', (cause) =>
      reject(new RollcallError('USAGE', `port ${port} of ${address} cannot be had`, { cause })),
    );
    server.listen(port, address, () => resolve((server.address() as AddressInfo).port));
  });
}
