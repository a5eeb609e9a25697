import { openBus } from '../events/open-bus.ts';
import type { BusFlags } from '../events/bus-access.ts';
import { withProgress } from '../terminal/progress.ts';
import { say } from '../terminal/output.ts';
import { askHeard, sayMissingParts, serversIn } from './heard-clusters.ts';

/**
 * Which NATS server the agent of each of these clusters is at, by id; says of how many that is not known.
 * @throws RollcallError HUB_MISSING, BUS_UNREACHABLE
 */
export async function serversOfClusters(
  flags: BusFlags,
  ids: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const { nc } = await withProgress('connecting', openBus(flags));
  try {
    const heard = await withProgress('asking', askHeard(nc, ids));
    const servers = serversIn(heard);
    sayMissingParts(heard);
    const others = ids.length - servers.size;
    if (others > 0)
      say(`${others} of ${ids.length} clusters are at no server that a heartbeat service knows of`);
    return servers;
  } finally {
    await nc.close();
  }
}
