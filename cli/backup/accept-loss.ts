import { join } from 'node:path';
import type { BusAddress } from '@rollcall/shared/bus';
import { RollcallError } from '@rollcall/shared/errors';
import type { KeysFlags } from '../install/hub/hub-in-pods.ts';
import { printResult } from '../terminal/output.ts';
import { withProgress } from '../terminal/progress.ts';
import { stateDirectory } from '../state-directory.ts';
import { loopbackPorts } from '../up/loopback-ports.ts';
import { knownEpochs, refuseHalfRestored } from '../up/state/half-restored.ts';
import { type HubState, openHubState } from '../up/state/hub-state.ts';
import { endLeftovers } from '../up/leftovers.ts';
import { startNatsCluster } from '../up/nats/nats-cluster.ts';
import { startNatsServer } from '../up/nats/nats-server.ts';
import { natsPorts, serverCountOf } from '../up/state/nats-servers-of.ts';
import { readState } from '../up/private-files.ts';
import { upgradeHubState } from '../up/state/upgrade-hub-state.ts';
import { revocationsIn } from '../up/state/revocations-of.ts';
import { lockState } from '../up/state/state-lock.ts';
import { beginEpoch, enterEpoch } from './begin-epoch.ts';
import { nextEpoch } from './next-epoch.ts';
import { startHint } from './put-in-place.ts';

/** The hub of the directory, which its person has named. */
function namedHub(stateDir: string, hubId: string): HubState {
  const there = readState<HubState>(join(stateDir, 'hub.json'));
  if (!there) throw new RollcallError('HUB_MISSING', `there is no hub in "${stateDir}"`);
  if (there.hubId === hubId) return there;
  throw new RollcallError('HUB_WRONG', `the hub in "${stateDir}" is "${there.hubId}", not "${hubId}"`);
}

async function startStreams(
  stateDir: string,
  hub: HubState,
): Promise<AsyncDisposable & { address: BusAddress }> {
  const { nats: port } = await loopbackPorts(join(stateDir, 'restore-ports.json'), ['nats']);
  const where = { stateDir, port, advertised: [] };
  if (serverCountOf(stateDir) > 1) {
    const cluster = await startNatsCluster({ ...where, hub: () => hub });
    return { address: cluster.address, [Symbol.asyncDispose]: () => cluster.stop() };
  }
  const { address, server } = await startNatsServer(hub, { ...where, nowMs: Date.now() });
  return { address, [Symbol.asyncDispose]: () => server.stop() };
}

async function beginOver(where: { stateDir: string; hub: HubState; epoch: number }): Promise<number> {
  await using streams = await startStreams(where.stateDir, where.hub);
  // Not before it is over are the servers stopped.
  return await beginEpoch(streams.address, where);
}

export interface AcceptLossFlags extends KeysFlags {
  readonly stateDir?: string;
  readonly epoch?: string;
}

/**
 * Has a hub that has lost some of its history, or all, go on with what is left, in a new epoch.
 * @param hubId - of that hub: nobody does this by mistake
 * @throws RollcallError HUB_MISSING, HUB_WRONG, STATE_IN_USE, KEYS_OFFLINE; of one in a cluster also USAGE, BUS_UNREACHABLE; KubeApiError
 */
export async function acceptLoss(hubId: string, flags: AcceptLossFlags): Promise<void> {
  const stateDir = flags.keys ?? flags.stateDir ?? stateDirectory();
  namedHub(stateDir, hubId);
  if (natsPorts(stateDir).length === 0) {
    const { acceptLossInPods } = await import('./in-pods/accept-loss-in-pods.ts');
    return acceptLossInPods(stateDir, flags);
  }
  const unlock = lockState(stateDir);
  try {
    refuseHalfRestored(stateDir);
    await endLeftovers(stateDir);
    const found = openHubState(stateDir, Date.now());
    const alsoRevoked = revocationsIn(stateDir, found.keys.agents);
    upgradeHubState(stateDir, Date.now(), { alsoRevoked });
    const hub = openHubState(stateDir, Date.now());
    const epoch = nextEpoch(
      knownEpochs(stateDir),
      flags.epoch === undefined ? undefined : Number(flags.epoch),
    );
    const through = await withProgress('beginning a new epoch', beginOver({ stateDir, hub, epoch }));
    enterEpoch(stateDir, epoch);
    printResult(
      `"${stateDir}": epoch ${epoch} begins after event ${through}; what came later is lost. Start it with ${startHint(flags.keys ?? flags.stateDir)}: what Kubernetes and the servers' own list show as put out stays out, and tokens wait for \`rollcall token renew NAME\`.`,
    );
  } finally {
    unlock();
  }
}
