import type { NatsConnection } from '@nats-io/transport-node';
import {
  type BusAddress,
  type BusCredentials,
  connectBus,
  type EventLog,
  openEventLog,
} from '@rollcall/shared/bus';
import {
  mostSimulatedClusters,
  simulatedAgents,
  simulatedAgentsRole,
  simulatorRole,
} from '@rollcall/shared/rights';
import { nkeyFromSeed } from '@rollcall/shared/trust';
import { busUser, type HubState, userAmongAgents } from '../../up/state/hub-state.ts';
import { readOfflineKeys } from '../../up/state/offline-keys.ts';
import { inParallel } from '@rollcall/shared/kubernetes/in-parallel';

/** Two connections, of which one may send heartbeats for these clusters and the other write their history, and nothing of any other cluster. */
export interface SimulatorConnection {
  readonly heartbeats: NatsConnection;
  readonly history: NatsConnection;
  /** Over `history`. */
  readonly log: EventLog;
  readonly clusterIds: readonly string[];
}

/** A run that is killed leaves nobody behind who could write for longer. */
const lifeMs = 6 * 3_600_000;
/** Handshakes are CPU time of the server: more at once only take longer, each of them. */
const connectingAtOnce = 4;
/** On a busy machine not every handshake ends in the time that the server gives it. */
const mostTries = 5;

/** Ids in the numbers that one connection can have. */
function inConnections(clusterIds: readonly string[]): string[][] {
  const count = Math.ceil(clusterIds.length / mostSimulatedClusters);
  return Array.from({ length: count }, (_, index) =>
    clusterIds.slice(index * mostSimulatedClusters, (index + 1) * mostSimulatedClusters),
  );
}

/**
 * Makes users for clusters that are made up, with the key that the hub keeps offline, and connects them. They are stored nowhere.
 * @throws RollcallError KEYS_OFFLINE, BUS_UNREACHABLE
 */
export async function openSimulatorBus(options: {
  stateDir: string;
  hub: HubState;
  address: BusAddress;
  clusterIds: readonly string[];
}): Promise<SimulatorConnection[]> {
  const { stateDir, hub, address } = options;
  const { signers, accounts } = readOfflineKeys(stateDir);
  const signer = nkeyFromSeed(signers.hub);
  const agents = nkeyFromSeed(accounts.agents);

  async function connectPatiently(credentials: BusCredentials, name: string): Promise<NatsConnection> {
    for (let tries = 1; ; tries++) {
      try {
        return await connectBus(address, credentials, name);
      } catch (error) {
        if (tries === mostTries) throw error;
      }
    }
  }

  async function open(clusterIds: readonly string[]): Promise<SimulatorConnection> {
    const nowMs = Date.now();
    const issuer = { keys: hub.keys, signer, expiresAtMs: nowMs + lifeMs };
    const user = busUser(simulatorRole(clusterIds), 'simulator', issuer, nowMs);
    const role = simulatedAgentsRole(clusterIds);
    const sender = userAmongAgents(role, simulatedAgents, { agents, expiresAtMs: nowMs + lifeMs }, nowMs);
    const history = await connectPatiently(user, 'simulator');
    const heartbeats = await connectPatiently(sender, simulatedAgents).catch(async (error: unknown) => {
      await history.close();
      throw error;
    });
    const log = await openEventLog(history, {
      epoch: hub.epoch,
      latestEpoch: hub.epoch,
      source: '/rollcall/simulate',
    });
    return { heartbeats, history, log, clusterIds };
  }

  const opened: SimulatorConnection[] = [];
  try {
    return await inParallel(inConnections(options.clusterIds), connectingAtOnce, async (ids) => {
      const connection = await open(ids);
      opened.push(connection);
      return connection;
    });
  } catch (error) {
    await closeSimulatorBus(opened);
    throw error;
  }
}

export async function closeSimulatorBus(connections: readonly SimulatorConnection[]): Promise<void> {
  await Promise.all(connections.flatMap(({ heartbeats, history }) => [heartbeats.close(), history.close()]));
}
