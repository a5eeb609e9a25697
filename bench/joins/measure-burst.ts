import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { readAuditWrites } from '../report/audit-writes.ts';
import { clusterNames } from '../hub/cluster-names.ts';
import { openCrowd } from '../hub/crowd.ts';
import { type Spread, spreadOf } from '../../cli/simulate/report/quantile.ts';
import { replayPlan } from './replay-plan.ts';
import { replayWrites } from './replay-writes.ts';
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
/** Status that may wait for a moment is written within it (the projector's joinDebounceMs), and status of tokens and sets. */
const settlingMs = 5000;
const warmUpAgents = 10;

export async function measureBurst(count: number, say: (message: string) => void): Promise<BurstResult> {
  say('starting a hub whose audit log keeps what was sent');
  await using hub = await startBenchHub({ audit: 'requests', withMember: false });
  const { report } = hub;
  const admin = openBenchClient(report.admin);
  try {
    await using crowd = await openCrowd({ ...report, admin }, count + warmUpAgents);
    await crowd.join(clusterNames('warm-up', warmUpAgents));
    await delay(settlingMs);

    say(`${count} agents at once`);
    const clusters = clusterNames('burst', count);
    const endJoins = openUsageWindow({ ...report.pids, agents: process.pid });
    const toReadyMs = await crowd.join(clusters);
    const joinsMs = Math.max(...toReadyMs);
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
    await crowd.stop();
    const endReplay = openUsageWindow({ ...report.pids, agents: process.pid });
    const replay = await replayWrites(plan, { stateDir: report.stateDir, concurrency });
    const replayed = endReplay();
    const perSecond = (lastedMs: number) => (count * 1000) / lastedMs;
    return {
      agents: count,
      toReadyMs: spreadOf(toReadyMs),
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
      troubles: crowd.troubles,
    };
  } finally {
    admin.close();
  }
}

function perJoin(cpuMs: Readonly<Record<string, number>>, count: number): Record<string, number> {
  return Object.fromEntries(Object.entries(cpuMs).map(([name, used]) => [name, used / count]));
}
