import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { type BusAddress, connectBus, openEventLog, streamState } from '@rollcall/shared/bus';
import { RollcallError } from '@rollcall/shared/errors';
import { draft, epochAggregate, restored } from '@rollcall/shared/events';
import { printResult } from '../output.ts';
import { withProgress } from '../progress.ts';
import { stateDirectory } from '../state-directory.ts';
import { loopbackPorts } from '../up/control-plane/control-plane-ports.ts';
import { knownEpochs, refuseHalfRestored } from '../up/state/half-restored.ts';
import { type HubState, openHubState } from '../up/state/hub-state.ts';
import { endLeftovers } from '../up/leftovers.ts';
import { startNatsCluster } from '../up/nats/nats-cluster.ts';
import { startNatsServer } from '../up/nats/nats-server.ts';
import { natsPorts, serverCountOf } from '../up/state/nats-servers-of.ts';
import { readState, writePrivate } from '../up/private-files.ts';
import { renewHubState } from '../up/state/renew-hub-state.ts';
import { lockState } from '../up/state/state-lock.ts';
import { nextEpoch } from './restore.ts';
import { temporaryUser } from './temporary-user.ts';

/** The hub of the directory, which its person has named. */
function namedHub(stateDir: string, hubId: string): HubState {
  const there = readState<HubState>(join(stateDir, 'hub.json'));
  if (!there) throw new RollcallError('HUB_MISSING', `there is no hub in "${stateDir}"`);
  if (natsPorts(stateDir).length === 0)
    throw new RollcallError(
      'HUB_IN_PODS',
      `"${stateDir}" has the keys of a hub whose history is in a cluster`,
    );
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

/** A new life of what is left begins: who was put out after it is looked up in Kubernetes, as after a restore. */
async function beginEpoch(where: { stateDir: string; hub: HubState; epoch: number }): Promise<number> {
  const { stateDir, hub, epoch } = where;
  await using streams = await startStreams(stateDir, hub);
  const nc = await connectBus(streams.address, temporaryUser(stateDir, hub, 'restore'), 'restore');
  try {
    const { lastSequence: throughSequence } = await streamState(nc, 'EVENTS');
    const log = await openEventLog(nc, { epoch, source: '/rollcall/restore' });
    const section = { epoch, throughSequence, backupTakenAtMs: Date.now() };
    const message = `epoch ${epoch} begins with the ${throughSequence} events that are left of the history`;
    const event = draft(restored, await log.read(epochAggregate, { unknownAsGarbage: true }), {
      reason: 'LossAccepted',
      message,
      section,
    });
    await log.append([event], { correlation: 'restore' });
    return throughSequence;
  } finally {
    await nc.close();
  }
}

/** Services are of the new epoch from their next start on; the hub itself says so last. */
function enterEpoch(stateDir: string, epoch: number): void {
  const identities = readdirSync(join(stateDir, 'identities')).map((name) => join('identities', name));
  for (const path of [...identities, 'hub.json']) {
    const document = readState<object>(join(stateDir, path));
    if (document) writePrivate(join(stateDir, path), JSON.stringify({ ...document, epoch }, undefined, 2));
  }
}

/**
 * Has a hub that has lost some of its history, or all, go on with what is left, in a new epoch.
 * @param hubId - of that hub: nobody does this by mistake
 * @throws RollcallError HUB_MISSING, HUB_WRONG, HUB_IN_PODS, STATE_IN_USE, KEYS_OFFLINE
 */
export async function acceptLoss(
  hubId: string,
  flags: { readonly stateDir?: string; readonly epoch?: string },
): Promise<void> {
  const stateDir = flags.stateDir ?? stateDirectory();
  namedHub(stateDir, hubId);
  const unlock = lockState(stateDir);
  try {
    refuseHalfRestored(stateDir);
    await endLeftovers(stateDir);
    renewHubState(openHubState(stateDir, Date.now()), stateDir, Date.now());
    const hub = openHubState(stateDir, Date.now());
    const epoch = nextEpoch(
      knownEpochs(stateDir),
      flags.epoch === undefined ? undefined : Number(flags.epoch),
    );
    const through = await withProgress('beginning a new epoch', beginEpoch({ stateDir, hub, epoch }));
    enterEpoch(stateDir, epoch);
    printResult(
      `"${stateDir}": epoch ${epoch} begins after event ${through}; what came later is lost. Start it with \`rollcall up\`: what Kubernetes shows as put out stays out, and tokens wait for \`rollcall token renew NAME\`.`,
    );
  } finally {
    unlock();
  }
}
