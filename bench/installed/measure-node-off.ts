import { RollcallError } from '@rollcall/shared/errors';
import { type Spread, spreadOf } from '../../cli/simulate/report/quantile.ts';
import { hubFlags, type InstalledHub, startInstalledHub } from '../../tests/nodes/installed-hub.ts';
import type { NodeParts } from '../../tests/nodes/provide-nodes.ts';
import { openInstalled } from './open-installed.ts';

/** What has a second replica, which stays where one node goes. */
const twice = ['registrar', 'approver', 'heartbeat', 'projector', 'account-controller', 'rbac-provisioner'];

/** Three NATS servers on three nodes; one of them loses its power, a cluster joins at that moment, and the node comes back. */
export async function measureNodeOff(
  rounds: number,
  parts: NodeParts,
  say: (message: string) => void,
): Promise<Spread> {
  const services = Object.fromEntries(twice.map((name) => [name, { replicas: 2 }]));
  await using hub = await startInstalledHub(1, { services }, { nodes: [2, 3], install, parts });
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

async function install(hub: InstalledHub): Promise<void> {
  const flags = ['--servers', '3', '--values', hub.hubValues, ...hubFlags(hub)];
  const { code, stderr } = await hub.rollcall('install', 'hub', ...flags);
  if (code !== 0) throw new RollcallError('CHILD_FAILED', stderr);
}
