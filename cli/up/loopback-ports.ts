import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { RollcallError } from '@rollcall/shared/errors';
import { writePrivate } from './private-files.ts';

/**
 * The loopback ports of servers, the same in every run: addresses stand in kubeconfigs, tokens and issuers. Free ones
 * are drawn once and remembered in the file.
 * @throws RollcallError `PORT_BUSY` if another process has taken a remembered port, or all; `STATE_INVALID` for a broken file
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
      const port = remembered[name] ?? 0;
      const server =
        port === 0
          ? await listenSomewhere()
          : await listen(port, name, wanted[name] === undefined ? path : undefined);
      servers.push(server);
      ports[name] = (server.address() as AddressInfo).port;
    }
    writePrivate(path, `${JSON.stringify({ ...remembered, ...ports }, undefined, 2)}\n`);
    return ports as Record<Name, number>;
  } finally {
    // Only now: a port that is closed before the next is drawn could be drawn twice.
    await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  }
}

/**
 * Below the ports that systems give to outgoing connections (from 32768 on, Linux): one of those would often take a port
 * between our closing it and the server's opening it. `ROLLCALL_LOOPBACK_PORTS=FROM-TO` are others, for who starts hubs in
 * several processes all the time, and gives each its own.
 */
function drawnFrom(): { from: number; to: number } {
  const text = process.env['ROLLCALL_LOOPBACK_PORTS'];
  if (!text) return { from: 20_000, to: 32_767 };
  const [from = 0, to = 0] = text.split('-').map(Number);
  if (/^\d+-\d+$/.test(text) && from > 0 && from <= to && to <= 65_535) return { from, to };
  throw new RollcallError('CONFIG_INVALID', `ROLLCALL_LOOPBACK_PORTS is FROM-TO, not "${text}"`);
}

/** By this process, and never again: nobody may listen there yet, and somebody of ours is about to. */
const tried = new Set<number>();

async function listenSomewhere(): Promise<Server> {
  const { from, to } = drawnFrom();
  const count = to - from + 1;
  const first = randomInt(count);
  for (let index = 0; index < count; index++) {
    const port = from + ((first + index) % count);
    if (tried.has(port)) continue;
    tried.add(port);
    const server = await listenOnce(port).catch(() => undefined);
    if (server) return server;
  }
  throw new RollcallError('PORT_BUSY', `no port from ${from} to ${to} is free`);
}

/** A server that was just ended may hold its port a moment longer than its process is seen. */
const freedWithinMs = 3000;
const pollMs = 100;

async function listenOnce(port: number): Promise<Server> {
  const server = createServer();
  server.listen({ port, host: '127.0.0.1' });
  await once(server, 'listening');
  return server;
}

/** @param rememberedIn - undefined where the port was given */
async function listen(port: number, name: string, rememberedIn: string | undefined): Promise<Server> {
  for (const deadlineMs = performance.now() + freedWithinMs; ; await delay(pollMs)) {
    try {
      return await listenOnce(port);
    } catch (cause) {
      if (performance.now() < deadlineMs) continue;
      const whose = rememberedIn === undefined ? 'as it was given' : `remembered in "${rememberedIn}"`;
      const message = `port ${port} of ${name} is taken by another process (${whose})`;
      throw new RollcallError('PORT_BUSY', message, { cause });
    }
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
