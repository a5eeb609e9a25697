import { execFileSync, type StdioOptions } from 'node:child_process';
import { cpus, loadavg, totalmem } from 'node:os';
import { rollcallVersion } from '@rollcall/shared/service/version';
import type { AgentForm } from './agent-program.ts';
import { countJoinWrites, type JoinWrites } from './count-writes.ts';
import type { AuditWrite } from './audit-writes.ts';
import type { Join } from './measure-joins.ts';
import type { Steady } from './measure-steady.ts';
import { quantile } from './quantile.ts';
import type { UsageWindow } from './usage-window.ts';

/** Everything that a run found; what `--json` prints and `--save` keeps. */
export interface BenchResult {
  readonly date: string;
  readonly commit: string;
  readonly version: string;
  readonly machine: {
    readonly cores: number;
    readonly cpu: string;
    readonly memoryBytes: number;
    readonly node: string;
    /** 1 minute, when the bench began and ended: above the number of cores, times are those of a busy machine. */
    readonly loadBefore: number;
    readonly loadAfter: number;
  };
  readonly agentForm: AgentForm;
  readonly agentNodeFlags: readonly string[];
  readonly joins: number;
  readonly startToReadyMs: Spread;
  readonly connectToReadyMs: Spread;
  readonly startToConnectMs: Spread;
  readonly writes: JoinWrites;
  readonly steady: Omit<Steady, 'usage'> & { readonly seconds: number };
  /** By process: in the joins, less what the hub at rest uses in the same time. */
  readonly cpuMsPerJoin: Readonly<Record<string, number>>;
  /** Without the processes of members. */
  readonly hubCpuMsPerJoin: number;
  readonly agentCpuMsPerJoin: number;
  /** By process: share of one core while clusters only beat, in percent. */
  readonly restingCpuPercent: Readonly<Record<string, number>>;
  readonly agentResidentBytes: { readonly atReady: Spread; readonly later: Spread };
}

export interface Spread {
  readonly least: number;
  readonly p50: number;
  readonly p99: number;
}

export interface Findings {
  readonly agentForm: AgentForm;
  readonly agentNodeFlags: readonly string[];
  readonly startedAtMs: number;
  readonly loadBefore: number;
  readonly joins: readonly Join[];
  readonly writes: readonly AuditWrite[];
  readonly joinUsage: UsageWindow;
  readonly steady: Steady;
  readonly residentLater: readonly number[];
}

function spreadOf(values: readonly number[]): Spread {
  return { least: quantile(values, 0), p50: quantile(values, 0.5), p99: quantile(values, 0.99) };
}

export function resultOf(found: Findings): BenchResult {
  const { joins, steady, joinUsage } = found;
  const cpuMsPerJoin: Record<string, number> = {};
  const restingCpuPercent: Record<string, number> = {};
  for (const [name, usedMs] of Object.entries(joinUsage.cpuMs)) {
    const restingShare = (steady.usage.cpuMs[name] ?? 0) / steady.usage.lastedMs;
    restingCpuPercent[name] = restingShare * 100;
    cpuMsPerJoin[name] = (usedMs - restingShare * joinUsage.lastedMs) / joins.length;
  }
  const ofHub = Object.entries(cpuMsPerJoin).filter(([name]) => !name.startsWith('member '));
  const { usage, ...atRest } = steady;
  return {
    date: new Date(found.startedAtMs).toISOString(),
    commit: commitOf(),
    version: rollcallVersion,
    machine: {
      cores: cpus().length,
      cpu: cpus()[0]?.model ?? 'unknown',
      memoryBytes: totalmem(),
      node: process.version,
      loadBefore: found.loadBefore,
      loadAfter: loadavg()[0] ?? Number.NaN,
    },
    agentForm: found.agentForm,
    agentNodeFlags: found.agentNodeFlags,
    joins: joins.length,
    startToReadyMs: spreadOf(joins.map(({ startedAtMs, readyAtMs }) => readyAtMs - startedAtMs)),
    connectToReadyMs: spreadOf(joins.map(({ connectedAtMs, readyAtMs }) => readyAtMs - connectedAtMs)),
    startToConnectMs: spreadOf(joins.map(({ startedAtMs, connectedAtMs }) => connectedAtMs - startedAtMs)),
    writes: countJoinWrites(
      found.writes,
      joins.map(({ cluster }) => cluster),
    ),
    steady: { ...atRest, seconds: usage.lastedMs / 1000 },
    cpuMsPerJoin,
    hubCpuMsPerJoin: ofHub.reduce((sum, [, used]) => sum + used, 0),
    agentCpuMsPerJoin: joins.reduce((sum, { agentCpuMs }) => sum + agentCpuMs, 0) / joins.length,
    restingCpuPercent,
    agentResidentBytes: {
      atReady: spreadOf(joins.map(({ agentResidentBytes }) => agentResidentBytes)),
      later: spreadOf(found.residentLater),
    },
  };
}

/** With `-changed` when the working tree is not what was committed. */
function commitOf(): string {
  try {
    return `${git('rev-parse', '--short', 'HEAD')}${git('status', '--porcelain') === '' ? '' : '-changed'}`;
  } catch {
    return 'unknown';
  }
}

function git(...args: string[]): string {
  const stdio: StdioOptions = ['ignore', 'pipe', 'ignore'];
  return execFileSync('git', args, { encoding: 'utf8', cwd: import.meta.dirname, stdio }).trim();
}
