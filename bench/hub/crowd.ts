import { type SimulatedAgent, startSimulatedAgent } from '@rollcall/agent/simulated-agent';
import type { KubeClient } from '@rollcall/shared/kubernetes';
import { makeToken } from '../../cli/token/make-token.ts';
import { nowMs } from '../report/clock.ts';
import { watchClusters } from './cluster-watch.ts';
import { inTime } from './in-time.ts';

/** What agents and whoever watches them need of a hub. */
export interface CrowdHub {
  readonly admin: KubeClient;
  readonly hubId: string;
  readonly addresses: readonly string[];
  readonly caPem: string;
}

/** Agents in the process of the bench that come by one token; their members are made up. */
export interface Crowd extends AsyncDisposable {
  /** What went wrong for agents, by phase and error code. */
  readonly troubles: Readonly<Record<string, number>>;
  /** How often a cluster that was Ready was shown as not Ready. */
  leftReady(): number;
  /**
   * All at the same moment.
   * @returns how long each took until a watch showed it as Ready
   */
  join(clusters: readonly string[]): Promise<readonly number[]>;
  /**
   * Does what costs every agent its connection.
   * @returns when each had sent a heartbeat on the last one of others
   */
  backAfter(work: () => Promise<unknown>): Promise<readonly number[]>;
  /** Agents end; their clusters stay. */
  stop(): Promise<void>;
}

const readyWithinMs = 300_000;
const backWithinMs = 180_000;

/** @param most - agents that may come */
export async function openCrowd({ admin, ...hub }: CrowdHub, most: number): Promise<Crowd> {
  const watch = await watchClusters(admin);
  const token = await makeToken(admin, { hubId: hub.hubId, name: `crowd-${most}`, uses: most });
  const agents: SimulatedAgent[] = [];
  const troubles: Record<string, number> = {};
  /** Connections without a heartbeat yet. */
  const silent = new Set<string>();
  const backMs = new Map<string, number>();
  let onBack: (() => void) | undefined;

  function start(cluster: string): SimulatedAgent {
    const agent = startSimulatedAgent({
      cluster,
      hub: hub.addresses,
      caPem: hub.caPem,
      token,
      onTrouble(what) {
        troubles[what] = (troubles[what] ?? 0) + 1;
      },
      onConnected: () => void silent.add(cluster),
      onHeartbeat() {
        if (!silent.delete(cluster)) return;
        backMs.set(cluster, nowMs());
        onBack?.();
      },
    });
    agents.push(agent);
    return agent;
  }
  const stop = async () => void (await Promise.all(agents.splice(0).map((agent) => agent.stop())));

  return {
    troubles,
    leftReady: () => watch.leftReady(),
    async join(clusters) {
      const fromMs = nowMs();
      const ready = Promise.all(clusters.map((cluster) => watch.whenReady(start(cluster).cluster)));
      const atMs = await inTime(`all of ${clusters.length} agents are Ready`, ready, readyWithinMs);
      return atMs.map((readyMs) => readyMs - fromMs);
    },
    async backAfter(work) {
      backMs.clear();
      const { promise, resolve } = Promise.withResolvers<void>();
      let isDone = false;
      const look = () => {
        if (isDone && backMs.size === agents.length) resolve();
      };
      onBack = look;
      await work();
      isDone = true;
      look();
      await inTime(`all of ${agents.length} agents are back`, promise, backWithinMs);
      onBack = undefined;
      return [...backMs.values()];
    },
    stop,
    async [Symbol.asyncDispose]() {
      await stop();
      await watch.stop();
    },
  };
}
