import { join } from 'node:path';
import type { NatsConnection } from '@nats-io/transport-node';
import { type BusAddress, type EventLog, openEventLog } from '@rollcall/shared/bus';
import { RollcallError } from '@rollcall/shared/errors';
import type { KubeClient } from '@rollcall/shared/kubernetes';
import { openHub } from '../hub-access.ts';
import { stateDirectory } from '../state-directory.ts';
import { type HubState, openHubState } from '../up/state/hub-state.ts';
import { natsPorts } from '../up/state/nats-servers-of.ts';
import { connectAsInspector } from '../up/state/people-connection.ts';
import { readState } from '../up/private-files.ts';

/** The hub of this directory, which runs: whoever simulates on it must hold its keys. */
export interface HubAtHand extends AsyncDisposable {
  readonly stateDir: string;
  readonly hub: HubState;
  readonly address: BusAddress;
  readonly admin: KubeClient;
  /** As the read-only user. */
  readonly nc: NatsConnection;
  readonly log: EventLog;
}

/** @throws RollcallError HUB_MISSING, BUS_UNREACHABLE */
export async function openHubAtHand(): Promise<HubAtHand> {
  const stateDir = stateDirectory();
  const ports = natsPorts(stateDir);
  if (ports.length === 0 || !readState(join(stateDir, 'hub.json')))
    throw new RollcallError('HUB_MISSING', `there is no hub in "${stateDir}"`);
  const hub = openHubState(stateDir, Date.now());
  const address = { servers: ports.map((port) => `127.0.0.1:${port}`), caPem: hub.caPem };
  const nc = await connectAsInspector(stateDir, address);
  const admin = openHub({ kubeconfig: join(stateDir, 'kubeconfig') });
  return {
    stateDir,
    hub,
    address,
    admin,
    nc,
    log: await openEventLog(nc, { epoch: hub.epoch, source: '/rollcall/simulate' }),
    async [Symbol.asyncDispose]() {
      admin.close();
      await nc.close();
    },
  };
}
