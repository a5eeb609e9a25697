import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { readAuditWrites } from '../report/audit-writes.ts';
import { makeToken } from '../../cli/token/make-token.ts';
import { nowMs } from '../report/clock.ts';
import { clusterNames } from '../hub/cluster-names.ts';
import { type ClusterWatch, watchClusters } from '../hub/cluster-watch.ts';
import { inTime } from '../hub/in-time.ts';
import { type Spread, spreadOf } from '../../cli/simulate/report/quantile.ts';
import { replayPlan } from './replay-plan.ts';
import { replayWrites } from './replay-writes.ts';
import { type SimulatedAgent, startSimulatedAgent } from '@rollcall/agent/simulated-agent';
import { openBenchClient, startBenchHub } from '../hub/start-hub.ts';
import { residentBytes } from '../../cli/simulate/report/process-usage.ts';
import { openUsageWindow } from '../report/usage-window.ts';

/** Many agents at once, against what the same API server takes when nobody thinks between the writes. */
export interface BurstResult {
  readonly agents: number;
  /** From the start of all to Ready, as a watch shows it. */
  readonly toReadyMs: Spread;
  /** Until the last one is Ready. */
  readonly joinsPerSecond: number;
  readonly replay: {
    readonly concurrency: number;
    readonly writesPerJoin: number;
    readonly joinsPerSecond: number;
    readonly refused: readonly string[];
  };
  /** joinsPerSecond, as a share of the replay's. */
  readonly share: number;
  /** By process, until the last one is Ready; `agents` is the process of the bench. */
  readonly cpuMsPerJoin: Readonly<Record<string, number>>;
  readonly replayCpuMsPerJoin: Readonly<Record<string, number>>;
  /** By process, when the last one is Ready. */
  readonly residentBytes: Readonly<Record<string, number>>;
  /** What went wrong for agents, by phase and error code. */
  readonly troubles: Readonly<Record<string, number>>;
}

/** What an agent of 32 writers does at most to an API server without making it slower (measured). */
const concurrency = 32;
const readyWithinMs = 300_000;
/** Status that may wait for a moment is written within it (the projector's joinDebounceMs), and status of tokens and sets. */
const settlingMs = 5000;
const warmUpAgents = 10;

export async function measureBurst(count: number, say: (message: string) => void): Promise<BurstResult> {
  say('starting a hub whose audit log keeps what was sent');
  await using hub = await startBenchHub({ audit: 'requests', withMember: false });
  const { report } = hub;
  const admin = openBenchClient(report.admin);
  const watch = await watchClusters(admin);
  const agents: SimulatedAgent[] = [];
  const troubles: Record<string, number> = {};
  const token = await makeToken(admin, {
    hubId: report.hubId,
    name: 'burst',
    uses: count + warmUpAgents,
  });
  const start = (cluster: string) =>
    startSimulatedAgent({
      cluster,
      hub: report.addresses,
      caPem: report.caPem,
      token,
      onTrouble: (what) => {
        troubles[what] = (troubles[what] ?? 0) + 1;
      },
    });
  try {
    agents.push(...clusterNames('warm-up', warmUpAgents).map(start));
    await allReady(watch, agents);
    await delay(settlingMs);

    say(`${count} agents at once`);
    const clusters = clusterNames('burst', count);
    const endJoins = openUsageWindow({ ...report.pids, agents: process.pid });
    const fromMs = nowMs();
    const started = clusters.map(start);
    agents.push(...started);
    const readyAtMs = await allReady(watch, started);
    const joinsMs = Math.max(...readyAtMs) - fromMs;
    const joined = endJoins();
    const resident = Object.entries(report.pids).map(([name, pid]) => [
      name,
      residentBytes(pid) ?? Number.NaN,
    ]);
    await delay(settlingMs);
    const writes = readAuditWrites(readFileSync(report.auditLogPath, 'utf8'));
    const plan = replayPlan(writes, { clusters, rename: { from: 'burst-', to: 'again-' } });

    say(`the same ${plan.flat().length} writes again, from a bare client with ${concurrency} at a time`);
    // Else the services would see new objects and act on them.
    await hub.stopServices();
    await Promise.all(agents.map((agent) => agent.stop()));
    const endReplay = openUsageWindow({ ...report.pids, agents: process.pid });
    const replay = await replayWrites(plan, { stateDir: report.stateDir, concurrency });
    const replayed = endReplay();
    const perSecond = (lastedMs: number) => (count * 1000) / lastedMs;
    return {
      agents: count,
      toReadyMs: spreadOf(readyAtMs.map((atMs) => atMs - fromMs)),
      joinsPerSecond: perSecond(joinsMs),
      replay: {
        concurrency,
        writesPerJoin: replay.requests / count,
        joinsPerSecond: perSecond(replay.lastedMs),
        refused: [...new Set(replay.refused)].slice(0, 20),
      },
      share: replay.lastedMs / joinsMs,
      cpuMsPerJoin: perJoin(joined.cpuMs, count),
      replayCpuMsPerJoin: perJoin(replayed.cpuMs, count),
      residentBytes: Object.fromEntries(resident) as Record<string, number>,
      troubles,
    };
  } finally {
    await Promise.all(agents.map((agent) => agent.stop()));
    await watch.stop();
    admin.close();
  }
}

function allReady(watch: ClusterWatch, agents: readonly SimulatedAgent[]): Promise<number[]> {
  const ready = Promise.all(agents.map(({ cluster }) => watch.whenReady(cluster)));
  return inTime(`all of ${agents.length} agents are Ready`, ready, readyWithinMs);
}

function perJoin(cpuMs: Readonly<Record<string, number>>, count: number): Record<string, number> {
  return Object.fromEntries(Object.entries(cpuMs).map(([name, used]) => [name, used / count]));
}
