import { type Spread, spreadOf } from '../../cli/simulate/report/quantile.ts';
import { startThreeServers } from '../../tests/nodes/installed-hub.ts';
import type { NodeParts } from '../../tests/nodes/provide-nodes.ts';
import { openInstalled } from './open-installed.ts';

/** Three NATS servers on three nodes; one of them loses its power, a cluster joins at that moment, and the node comes back. */
export async function measureNodeOff(
  rounds: number,
  parts: NodeParts,
  say: (message: string) => void,
): Promise<Spread> {
  await using hub = await startThreeServers(parts);
  // A request that a server without a majority has refused may have taken one of the token's uses.
  await using crowd = await openInstalled(hub, 10 * (rounds + 1));
  await crowd.join(['before']);
  const tookMs: number[] = [];
  for (let round = 1; round <= rounds; round++) {
    say(`a node loses its power, ${round} of ${rounds}`);
    const node = hub.nodes.at(-1);
    await node?.crash();
    tookMs.push(...(await crowd.join([`after-${round}`])));
    await node?.start();
    await hub.untilAllRun();
  }
  return spreadOf(tookMs);
}
