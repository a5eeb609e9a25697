import type { BusFlags } from '../events/bus-access.ts';
import { type OpenBus, openBus } from '../events/open-bus.ts';

/** Opens the bus to read it; where nobody waits for the answer any more, the connection ends, and with it the reading. */
export async function withBusUntil<Result>(
  flags: BusFlags,
  signal: AbortSignal,
  read: (bus: OpenBus) => Promise<Result>,
): Promise<Result> {
  const bus = await openBus(flags);
  const close = () => void bus.nc.close();
  signal.addEventListener('abort', close, { once: true });
  try {
    signal.throwIfAborted();
    return await read(bus);
  } finally {
    signal.removeEventListener('abort', close);
    await bus.nc.close();
  }
}
