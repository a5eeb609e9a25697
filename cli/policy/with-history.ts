import type { EventLog } from '@rollcall/shared/bus';
import type { BusFlags } from '../events/bus-access.ts';
import { openBus } from '../events/open-bus.ts';
import { withProgress } from '../terminal/progress.ts';

/** Opens the history to read it; nothing can be written with these credentials. */
export async function withHistory<Result>(
  flags: BusFlags,
  use: (log: EventLog) => Promise<Result>,
): Promise<Result> {
  const { nc, log } = await withProgress('connecting', openBus(flags));
  try {
    return await use(log);
  } finally {
    await nc.close();
  }
}
