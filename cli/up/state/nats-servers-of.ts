import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { RollcallError } from '@rollcall/shared/errors';
import { readState, writePrivate } from '../private-files.ts';

/** One server, or as many as can lose one without stopping. */
const serverCounts = [1, 3] as const;
export type ServerCount = (typeof serverCounts)[number];

/**
 * As `--servers` says it.
 * @throws RollcallError USAGE
 */
export function serverCountFlag(text: string): ServerCount {
  const count = serverCounts.find((one) => String(one) === text);
  if (count !== undefined) return count;
  throw new RollcallError('USAGE', `--servers "${text}": a hub has ${serverCounts.join(' or ')}`);
}

const fileOf = (stateDir: string) => join(stateDir, 'nats', 'servers.json');

/** How many NATS servers the hub of this directory has; 1 where nobody has said so. */
export function serverCountOf(stateDir: string): ServerCount {
  return readState<{ servers: ServerCount }>(fileOf(stateDir))?.servers ?? 1;
}

/**
 * Sets it, before there is a certificate for its servers only: streams of one server are not those of three.
 * @throws RollcallError USAGE where the hub has another number
 */
export function setServerCount(stateDir: string, wanted: ServerCount | undefined): void {
  const isFirst = !existsSync(join(stateDir, 'nats', 'server.pem'));
  if (isFirst && wanted !== undefined) writePrivate(fileOf(stateDir), JSON.stringify({ servers: wanted }));
  const count = serverCountOf(stateDir);
  if (wanted !== undefined && wanted !== count)
    throw new RollcallError(
      'USAGE',
      `the hub in "${stateDir}" has ${count} NATS server${count === 1 ? '' : 's'}, not ${wanted}; a restored hub has one`,
    );
}

/** The first is called as the only one of other hubs is, so that all that knows one server knows it. */
export function natsServerNames(stateDir: string): string[] {
  const count = serverCountOf(stateDir);
  return Array.from({ length: count }, (_, index) =>
    index === 0 ? 'nats-server' : `nats-server-${index + 1}`,
  );
}

/** Ports that agents and services use, of a hub that has been started before. */
export function natsPorts(stateDir: string): number[] {
  const ports = readState<Record<string, number>>(join(stateDir, 'ports.json')) ?? {};
  return natsServerNames(stateDir).flatMap((name) => ports[name.replace('nats-server', 'nats')] ?? []);
}
