import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { RollcallError } from '@rollcall/shared/errors';
import { makeToken } from '../../cli/token/make-token.ts';
import { nowMs } from '../report/clock.ts';
import { watchClusters } from '../hub/cluster-watch.ts';
import { type FloodKind, floodKinds, type FloodSettings } from './flood-settings.ts';
import { inTime } from '../hub/in-time.ts';
import { type Spread, spreadOf } from '../../cli/simulate/report/quantile.ts';
import { startSimulatedAgent } from '@rollcall/agent/simulated-agent';
import { openBenchClient, startBenchHub } from '../hub/start-hub.ts';
import { openUsageWindow, usedCores } from '../report/usage-window.ts';

/** What joins of others take while one attacks, against joins between the attacks. */
export interface FloodResult {
  readonly kind: FloodKind;
  readonly idleMs: Spread;
  readonly floodedMs: Spread;
  /** Beside a process that only takes as much of the machine as the attacker did. */
  readonly besideBurnerMs: Spread;
  /** Flooded to idle, p50 to p50. */
  readonly ratio: number;
  /** Flooded to beside the burner, p50 to p50. */
  readonly ratioToBurner: number;
  /** Messages, or connections. */
  readonly sentPerSecond: number;
  /** In cores, while it lasted. */
  readonly usedCores: Readonly<Record<string, number>>;
}

const attacker = 'attacker';
const joinsOfOneRound = 5;
/** Until a flood has filled what it fills, and after it, until that is worked off. */
const floodingMs = 2000;
const settlingMs = 2000;
const pauseMs = 300;

interface RunningFlood {
  readonly pid: number;
  /** @returns how many were sent */
  stop(): Promise<number>;
}

async function startFlood(settings: FloodSettings): Promise<RunningFlood> {
  const child = fork(join(import.meta.dirname, 'flood-process.ts'), [JSON.stringify(settings)], {
    execArgv: [],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const exited = once(child, 'exit');
  if (!(await Promise.race([once(child, 'message'), exited.then(() => undefined)])))
    throw new RollcallError('CHILD_FAILED', `the flood of ${settings.kind} did not begin`);
  return {
    pid: child.pid ?? 0,
    async stop() {
      const said = once(child, 'message') as Promise<[number]>;
      child.send('stop');
      const first = await Promise.race([said, exited.then(() => undefined)]);
      await exited;
      if (!first) throw new RollcallError('CHILD_FAILED', `the flood of ${settings.kind} ended by itself`);
      return first[0];
    },
  };
}

/** Rounds of idle joins, joins under attack and joins beside a burner, so that all see the same machine. */
export async function measureFlood(
  { floods, floodRounds: rounds }: { floods: string; floodRounds: number },
  say: (message: string) => void,
): Promise<FloodResult[]> {
  await using hub = await startBenchHub({ audit: 'metadata', withMember: false });
  const { report } = hub;
  const admin = openBenchClient(report.admin);
  const watch = await watchClusters(admin);
  const newToken = (name: string, uses: number) => makeToken(admin, { hubId: report.hubId, name, uses });
  const good = await newToken('others', 1000);
  let count = 0;

  async function joinOnce(): Promise<number> {
    const cluster = `flood-${String(++count).padStart(4, '0')}`;
    const fromMs = nowMs();
    const agent = startSimulatedAgent({
      cluster,
      hub: report.addresses,
      caPem: report.caPem,
      token: good,
      onTrouble: (what) => say(`${cluster}: ${what}`),
    });
    try {
      return (await inTime(`${cluster} is Ready`, watch.whenReady(cluster))) - fromMs;
    } finally {
      await agent.stop();
    }
  }

  async function joinSome(): Promise<number[]> {
    const took: number[] = [];
    for (let at = 0; at < joinsOfOneRound; at++) {
      await delay(pauseMs);
      took.push(await joinOnce());
    }
    return took;
  }

  async function measureKind(kind: FloodKind): Promise<FloodResult> {
    const address = { servers: report.addresses, caPem: report.caPem };
    const [idle, flooded, besideBurner]: [number[], number[], number[]] = [[], [], []];
    const used: Record<string, number> = {};
    let sent = 0;
    let lastedMs = 0;
    for (let round = 0; round < rounds; round++) {
      idle.push(...(await joinSome()));
      // Of the round before, its token may still be kept out.
      const token = await newToken(`flood-${floodKinds.indexOf(kind)}-${round}`, 1);
      const { hubId } = report;
      const flood = await startFlood({ kind, address, hubId, token });
      await delay(floodingMs);
      const end = openUsageWindow({ ...report.pids, [attacker]: flood.pid });
      flooded.push(...(await joinSome()));
      const window = end();
      for (const [name, cpuMs] of Object.entries(window.cpuMs)) used[name] = (used[name] ?? 0) + cpuMs;
      lastedMs += window.lastedMs;
      sent += await flood.stop();
      await delay(settlingMs);
      const cores = (window.cpuMs[attacker] ?? 0) / window.lastedMs;
      const burner = await startFlood({ kind: 'nothing', cores, address, hubId, token });
      besideBurner.push(...(await joinSome()));
      await burner.stop();
    }
    const [idleMs, floodedMs, besideBurnerMs] = [spreadOf(idle), spreadOf(flooded), spreadOf(besideBurner)];
    return {
      kind,
      idleMs,
      floodedMs,
      besideBurnerMs,
      ratio: floodedMs.p50 / idleMs.p50,
      ratioToBurner: floodedMs.p50 / besideBurnerMs.p50,
      sentPerSecond: (sent * 1000) / (lastedMs + rounds * floodingMs),
      usedCores: usedCores({ cpuMs: used, lastedMs }),
    };
  }

  try {
    for (let at = 0; at < 3; at++) await joinOnce();
    const results: FloodResult[] = [];
    for (const kind of floodKinds.filter((each) => each.includes(floods))) {
      say(`joins while others flood: ${kind}`);
      const result = await measureKind(kind);
      say(`p50 ${result.floodedMs.p50.toFixed(0)} ms, idle ${result.idleMs.p50.toFixed(0)} ms`);
      results.push(result);
    }
    return results;
  } finally {
    await watch.stop();
    admin.close();
  }
}
