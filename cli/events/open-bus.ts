import type { NatsConnection } from '@nats-io/transport-node';
import { connectBus, type EventLog, openEventLog } from '@rollcall/shared/bus';
import { decodeJwt } from '@rollcall/shared/trust';
import { say } from '../terminal/output.ts';
import { busAccess, type BusAccess, type BusFlags } from './bus-access.ts';

/** A connection as one of the users for people: `inspector`, or `ops`, who reads the history in pages. */
export interface OpenBus extends BusAccess {
  readonly nc: NatsConnection;
  readonly log: EventLog;
}

/**
 * Connects to read; nothing can be written with these credentials. The caller closes `nc`.
 * @throws RollcallError USAGE, HUB_MISSING, NOT_FOUND, BUS_UNREACHABLE, BUS_REFUSED …; KubeApiError
 */
export async function openBus(flags: BusFlags): Promise<OpenBus> {
  const access = await busAccess(flags);
  const name = decodeJwt(access.credentials.jwt)?.name ?? 'inspector';
  const nc = await connectBus(access.address, access.credentials, name, flags.askWithinMs);
  // It only reads, so its epoch is in nothing.
  return { ...access, nc, log: await openEventLog(nc, { epoch: 1, source: '/rollcall/cli' }) };
}

/** A newer version wrote it, or it is damaged: the rest is shown all the same. */
export function sayLeftOut(error: Error): void {
  say(`left out: ${error.message}`);
}
