import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { NatsConnection } from '@nats-io/transport-node';
import { type BusAddress, type BusCredentials, connectBus } from '@rollcall/shared/bus';
import { RollcallError } from '@rollcall/shared/errors';

/** Reads a credentials file as NATS clients have it. */
export function parseCreds(text: string): BusCredentials {
  const part = (what: string) => new RegExp(`BEGIN ${what}-----\\s+(\\S+)`).exec(text)?.[1];
  const jwt = part('NATS USER JWT');
  const seed = part('USER NKEY SEED');
  if (!jwt || !seed) throw new RollcallError('CONFIG_INVALID', 'the credentials file has no JWT and seed');
  return { jwt, seed };
}

/** Connects as the user who reads every stream. */
export function connectAsInspector(stateDir: string, address: BusAddress): Promise<NatsConnection> {
  // Read for each connection: the user rolls over while a command runs.
  const user = () => parseCreds(readFileSync(join(stateDir, 'inspector.creds'), 'utf8'));
  return connectBus(address, user, 'inspector');
}
