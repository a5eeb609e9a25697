import type { BusFlags } from '../events/bus-access.ts';
import { type OpenBus, openBus } from '../events/open-bus.ts';

/** Opens the bus to read it. */
export async function withBus<Result>(
  flags: BusFlags,
  read: (bus: OpenBus) => Promise<Result>,
): Promise<Result> {
  const bus = await openBus(flags);
  try {
    return await read(bus);
  } finally {
    await bus.nc.close();
  }
}

/** The same; where nobody waits for the answer any more, the connection ends, and with it the reading. */
export const withBusUntil = <Result>(
  flags: BusFlags,
  signal: AbortSignal,
  read: (bus: OpenBus) => Promise<Result>,
): Promise<Result> => withBus(flags, (bus) => readUntil(bus, signal, read));

async function readUntil<Result>(
  bus: OpenBus,
  signal: AbortSignal,
  read: (bus: OpenBus) => Promise<Result>,
): Promise<Result> {
  const close = () => void bus.nc.close();
  signal.addEventListener('abort', close, { once: true });
  try {
    signal.throwIfAborted();
    return await read(bus);
  } finally {
    signal.removeEventListener('abort', close);
  }
}
