import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { RollcallError } from '@rollcall/shared/errors';

/**
 * The loopback ports of servers, the same in every run: addresses stand in kubeconfigs, tokens and issuers. Free ones
 * are drawn once and remembered in the file.
 * @throws RollcallError `PORT_BUSY` if another process has taken a remembered port; `STATE_INVALID` for a broken file
 */
export async function loopbackPorts<Name extends string>(
  path: string,
  names: readonly Name[],
  wanted: Partial<Record<Name, number>> = {},
): Promise<Record<Name, number>> {
  const remembered: Partial<Record<string, number>> = { ...read(path), ...wanted };
  const servers: Server[] = [];
  try {
    const ports: Partial<Record<string, number>> = {};
    for (const name of names) {
      const server = await listen(remembered[name] ?? 0, { name, path });
      servers.push(server);
      ports[name] = (server.address() as AddressInfo).port;
    }
    writeFileSync(path, `${JSON.stringify({ ...remembered, ...ports }, undefined, 2)}\n`, { mode: 0o600 });
    return ports as Record<Name, number>;
  } finally {
    // Only now: a port that is closed before the next is drawn could be drawn twice.
    await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  }
}

async function listen(port: number, { name, path }: { name: string; path: string }): Promise<Server> {
  const server = createServer();
  server.listen({ port, host: '127.0.0.1' });
  try {
    await once(server, 'listening');
    return server;
  } catch (error) {
    const message = `port ${port} of ${name} is taken by another process (remembered in "${path}")`;
    throw new RollcallError('PORT_BUSY', message, { cause: error });
  }
}

function read(path: string): Partial<Record<string, number>> {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch {
    return {};
  }
  try {
    const ports: unknown = JSON.parse(text);
    const isTable =
      typeof ports === 'object' &&
      ports !== null &&
      Object.values(ports).every((port) => Number.isInteger(port));
    if (isTable) return ports as Partial<Record<string, number>>;
  } catch {
    // Reported below, as a file that holds something else.
  }
  throw new RollcallError('STATE_INVALID', `"${path}" is not a table of ports`);
}
