import { connectBus, type EventLog, openEventLog } from '@rollcall/shared/bus';
import { busAccess, type BusFlags } from '../events/bus-access.ts';

/** Opens the history to read it; nothing can be written with these credentials. */
export async function withHistory<Result>(
  flags: BusFlags,
  use: (log: EventLog) => Promise<Result>,
): Promise<Result> {
  const { address, credentials } = await busAccess(flags);
  const nc = await connectBus(address, credentials, 'ops');
  try {
    // It only reads, so its epoch is in nothing.
    return await use(await openEventLog(nc, { epoch: 1, source: '/rollcall/cli' }));
  } finally {
    await nc.close();
  }
}
