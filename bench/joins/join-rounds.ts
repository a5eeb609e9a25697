import type { KubeClient } from '@rollcall/shared/kubernetes';
import { type SimulatedAgent, startSimulatedAgent } from '@rollcall/agent/simulated-agent';
import { type Spread, spreadOf } from '../../cli/simulate/report/quantile.ts';
import { makeToken } from '../../cli/token/make-token.ts';
import { nowMs } from '../report/clock.ts';
import { type ClusterWatch, watchClusters } from '../hub/cluster-watch.ts';
import type { HubSettings } from '../hub/hub-process.ts';
import { inTime } from '../hub/in-time.ts';
import { openUsageWindow, type UsageWindow } from '../report/usage-window.ts';
import { type BenchHub, openBenchClient, startBenchHub } from '../hub/start-hub.ts';

/** Joins of one kind of hub. */
export interface JoinRounds {
  /** One after the other, from the agent's first connection on. */
  readonly toReadyMs: Spread;
  /** Of some that come at once. */
  readonly joinsPerSecond: number;
  /** By process, of those that come at once. */
  readonly cpuMsPerJoin: Readonly<Record<string, number>>;
}

/** In turns, so that a busy machine is busy for all of them. */
const rounds = 3;
const singlesInRound = 8;
/** At once, before the first round: what a process takes to get warm is no part of a join. */
const warmUp = 100;

export interface KindOfHub {
  readonly name: string;
  readonly settings: Omit<HubSettings, 'audit' | 'withMember'>;
}

interface Candidate extends AsyncDisposable {
  readonly toReadyMs: number[];
  readonly joinsPerSecond: number[];
  /** Begins to count what its processes use. */
  openUsage(): () => UsageWindow;
  readonly cpuMs: UsageWindow['cpuMs'][];
  /** @returns from the start of the first to Ready of each, in ms */
  join(count: number): Promise<number[]>;
}

async function startCandidate({ settings }: KindOfHub, uses: number): Promise<Candidate> {
  const hub: BenchHub = await startBenchHub({ audit: 'none', withMember: false, ...settings });
  const { report } = hub;
  const admin: KubeClient = openBenchClient(report.admin);
  const watch: ClusterWatch = await watchClusters(admin);
  const token = await makeToken(admin, { hubId: report.hubId, name: 'rounds', uses });
  const agents: SimulatedAgent[] = [];
  return {
    toReadyMs: [],
    joinsPerSecond: [],
    openUsage: () => openUsageWindow(report.pids),
    cpuMs: [],
    async join(count) {
      const fromMs = nowMs();
      const started = Array.from({ length: count }, () => {
        const cluster = `joins-${String(agents.length + 1).padStart(4, '0')}`;
        const { addresses, caPem } = report;
        const agent = startSimulatedAgent({
          cluster,
          hub: addresses,
          caPem,
          token,
          onTrouble: () => undefined,
        });
        agents.push(agent);
        return watch.whenReady(cluster);
      });
      return (await inTime(`${count} agents are Ready`, Promise.all(started))).map((atMs) => atMs - fromMs);
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(agents.map((agent) => agent.stop()));
      await watch.stop();
      admin.close();
      await hub[Symbol.asyncDispose]();
    },
  };
}

/** The same joins on hubs that run at the same time, in turns. @returns in the order of `kinds` */
export async function measureJoinRounds(
  kinds: readonly KindOfHub[],
  atOnceInRound: number,
  say: (message: string) => void,
): Promise<JoinRounds[]> {
  await using stack = new AsyncDisposableStack();
  const candidates: Candidate[] = [];
  for (const kind of kinds) {
    say(`starting a hub ${kind.name}`);
    const candidate = stack.use(
      await startCandidate(kind, warmUp + rounds * (singlesInRound + atOnceInRound)),
    );
    await candidate.join(warmUp);
    candidates.push(candidate);
  }
  for (let round = 1; round <= rounds; round++) {
    say(`round ${round} of ${rounds}`);
    for (const candidate of candidates) {
      for (let single = 0; single < singlesInRound; single++)
        candidate.toReadyMs.push(...(await candidate.join(1)));
      const end = candidate.openUsage();
      candidate.joinsPerSecond.push(
        (atOnceInRound * 1000) / Math.max(...(await candidate.join(atOnceInRound))),
      );
      candidate.cpuMs.push(end().cpuMs);
    }
  }
  return candidates.map(({ toReadyMs, joinsPerSecond, cpuMs }) => ({
    toReadyMs: spreadOf(toReadyMs),
    joinsPerSecond: spreadOf(joinsPerSecond).p50,
    cpuMsPerJoin: perJoin(cpuMs, rounds * atOnceInRound),
  }));
}

function perJoin(windows: readonly UsageWindow['cpuMs'][], joins: number): Record<string, number> {
  const names = Object.keys(windows[0] ?? {});
  const used = (name: string) => windows.reduce((sum, cpuMs) => sum + (cpuMs[name] ?? 0), 0);
  return Object.fromEntries(names.map((name) => [name, used(name) / joins]));
}
