import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { createArrivals, createDepartureTurn } from '@rollcall/shared/decisions';
import { resources } from '@rollcall/shared/kubernetes';
import { namespaces } from '@rollcall/shared/resources';
import { createNkey } from '@rollcall/shared/trust';
import type { Action, FleetPlan } from './fleet-plan.ts';
import type { HubAtHand } from '../hub-at-hand.ts';
import { createMadeUpHeartbeats, type MadeUpHeartbeats } from './made-up-heartbeats.ts';
import { beginLeaving, makeUp, takeAway } from './made-up-clusters.ts';
import type { MadeUpCluster } from './made-up-history.ts';
import { createRandom } from '../random.ts';
import { createRealAgents, type RealAgents } from './real-agents.ts';
import { makeToken } from '../../token/make-token.ts';
import { isReal, type SimulationSettings } from '../simulation-settings.ts';
import { closeSimulatorBus, openSimulatorBus } from './simulator-bus.ts';

/** The clusters of a run, whatever they are made of. */
export interface Fleet {
  /** Of the ids and names of all its clusters. */
  readonly prefix: string;
  readonly idOf: (cluster: number) => string;
  readonly heartbeats: MadeUpHeartbeats;
  readonly agents: RealAgents | undefined;
  readonly askedAtMs: Map<string, number>;
  /** @returns how long the made-up ones took, in ms */
  register(clusters: readonly number[]): Promise<number>;
  /** Whatever the scenario does to one cluster, but for leaving. */
  do(action: Action): Promise<void>;
  /**
   * They leave for good, all at once: those with an agent by themselves, and the made-up ones are decided about at the pace of a hub.
   * Done when these have begun to, and those have left.
   * @param ends - whoever is not decided about then stays
   */
  unregister(clusters: readonly number[], ends: AbortSignal): Promise<void>;
  /** All stop; the hub goes on to know them. */
  stop(): Promise<void>;
  /** All leave the hub, and the token of the run is gone. */
  leave(): Promise<void>;
}

/** A token for the real agents of a run, that lasts for as long as they may come. */
function tokenFor(
  { admin, hub }: Pick<HubAtHand, 'hub' | 'admin'>,
  { joinsPerSecond, scenario }: SimulationSettings,
  { tokenName, prefix, uses }: { tokenName: string; prefix: string; uses: number },
): Promise<string> {
  const lastsS = Math.ceil(uses / joinsPerSecond + scenario.end / 1000) + 3600;
  return makeToken(admin, {
    hubId: hub.hubId,
    name: tokenName,
    uses,
    terms: {
      ttl: `${lastsS}s`,
      clusterName: `${prefix}*`,
      allowLabels: ['simulated'],
      description: 'rollcall simulate',
    },
  });
}

/**
 * @param signal - nobody else registers after it
 * @throws RollcallError KEYS_OFFLINE, BUS_UNREACHABLE, DEADLINE_EXCEEDED; nothing of the run stays on the hub then
 */
export async function openFleet(
  at: Pick<HubAtHand, 'stateDir' | 'hub' | 'address' | 'admin'>,
  plan: FleetPlan,
  settings: SimulationSettings,
  signal: AbortSignal,
): Promise<Fleet> {
  const run = randomBytes(3).toString('hex');
  const tokenName = `sim-${run}`;
  const prefix = `sim-${run}-`;
  const idOf = (cluster: number) => `${prefix}${String(cluster + 1).padStart(6, '0')}`;
  const { interval, grace } = settings.scenario.heartbeat;
  const all = Array.from({ length: plan.total }, (_, cluster) => cluster);
  const hasAgent = (cluster: number) => isReal(cluster, settings) || plan.withAgent.has(cluster);
  const madeUp = all.filter((cluster) => !hasAgent(cluster));
  const uses = settings.real + plan.withAgent.size;
  const clusterIds = madeUp.map(idOf);
  const connections = await openSimulatorBus({ ...at, clusterIds });
  const closeAll = () => closeSimulatorBus(connections);
  const forgetToken = () =>
    at.admin.delete(resources.clusterRegistrationTokens, tokenName, { namespace: namespaces.join });
  let token: string | undefined;
  try {
    token = uses === 0 ? undefined : await tokenFor(at, settings, { tokenName, prefix, uses });
  } catch (error) {
    await Promise.allSettled([closeAll(), forgetToken()]);
    throw error;
  }
  const connectionOf = new Map(
    connections.flatMap((connection) => connection.clusterIds.map((id) => [id, connection] as const)),
  );
  const heartbeats = createMadeUpHeartbeats({
    intervalMs: interval,
    random: createRandom(settings.seed + 1),
  });
  const agents = token === undefined ? undefined : createRealAgents({ ...at.address, token });
  const askedAtMs = new Map<string, number>();
  const arrivals = createArrivals();
  const departureTurn = createDepartureTurn(arrivals);
  const heartbeat = { intervalSeconds: interval / 1000, graceSeconds: grace / 1000 };

  async function join(cluster: number): Promise<void> {
    askedAtMs.set(idOf(cluster), Date.now());
    arrivals.note({ kind: 'cluster', type: 'requested' });
    await agents?.join(idOf(cluster));
  }
  const fleet: Fleet = {
    prefix,
    idOf,
    heartbeats,
    agents,
    askedAtMs,
    async register(clusters) {
      const startedMs = performance.now();
      const made = new Map(
        clusters
          .filter((cluster) => !hasAgent(cluster))
          .map((cluster): [string, MadeUpCluster] => {
            const id = idOf(cluster);
            return [id, { id, key: createNkey('user').publicKey, isShown: cluster < settings.shown }];
          }),
      );
      const concerned = new Set([...made.keys()].flatMap((id) => connectionOf.get(id) ?? []));
      await makeUp([...concerned], made, { run, heartbeat });
      const madeUpMs = performance.now() - startedMs;
      for (const id of made.keys()) {
        const connection = connectionOf.get(id);
        if (connection) heartbeats.start(id, connection);
      }
      for (const cluster of clusters) {
        if (!hasAgent(cluster)) continue;
        if (signal.aborted) break;
        await join(cluster);
        await delay(1000 / settings.joinsPerSecond);
      }
      return madeUpMs;
    },
    async do({ verb, cluster }) {
      const id = idOf(cluster);
      if (verb === 'register') {
        await fleet.register([cluster]);
        return;
      }
      if (hasAgent(cluster)) return agents?.do(verb, id);
      heartbeats.do(verb, id);
    },
    async unregister(clusters, ends) {
      const ids = new Set(clusters.filter((cluster) => !hasAgent(cluster)).map(idOf));
      const concerned = new Set([...ids].flatMap((id) => connectionOf.get(id) ?? []));
      const leaving = [...concerned].map(({ clusterIds: ofConnection, ...connection }) => ({
        ...connection,
        clusterIds: ofConnection.filter((id) => ids.has(id)),
      }));
      const real = clusters.filter(hasAgent).map((cluster) => agents?.do('leave', idOf(cluster)));
      const made = beginLeaving(leaving, {
        run,
        turn: departureTurn,
        onLeaving: (id) => heartbeats.do('leave', id),
        signal: ends,
      });
      await Promise.all([made, ...real]);
    },
    async stop() {
      heartbeats.stop();
      try {
        await agents?.stop();
        if (agents) await forgetToken();
      } finally {
        await closeAll();
      }
    },
    async leave() {
      heartbeats.stop();
      try {
        await Promise.all([agents?.leave(), takeAway(connections, run)]);
        if (agents) await forgetToken();
      } finally {
        await closeAll();
      }
    },
  };
  return fleet;
}
