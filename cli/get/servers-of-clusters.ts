import { openBus } from '../events/open-bus.ts';
import type { BusFlags } from '../events/bus-access.ts';
import { withProgress } from '../terminal/progress.ts';
import { askHeard, serversIn } from './heard-clusters.ts';

/**
 * Which NATS server the agent of each of these clusters is at, by id.
 * @throws RollcallError HUB_MISSING, BUS_UNREACHABLE
 */
export async function serversOfClusters(
  flags: BusFlags,
  ids: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const { nc } = await withProgress('connecting', openBus(flags));
  try {
    return serversIn(await withProgress('asking', askHeard(nc, ids)));
  } finally {
    await nc.close();
  }
}
