import type { AgentForm } from '../hub/agent-program.ts';
import type { AuditWrite } from '../report/audit-writes.ts';
import { countJoinWrites, type JoinWrites } from '../report/count-writes.ts';
import type { Join } from './measure-joins.ts';
import type { Steady } from './measure-steady.ts';
import { type Spread, spreadOf } from '../../cli/simulate/report/quantile.ts';
import type { UsageWindow } from '../report/usage-window.ts';

/** Clusters that joined one after the other. */
export interface JoinsResult {
  readonly agentForm: AgentForm;
  readonly agentNodeFlags: readonly string[];
  readonly count: number;
  readonly startToReadyMs: Spread;
  readonly connectToReadyMs: Spread;
  readonly startToConnectMs: Spread;
  readonly startToLetInMs: Spread;
  readonly writes: JoinWrites;
  readonly steady: Omit<Steady, 'usage'> & { readonly seconds: number };
  /** By process: in the joins, less what the hub at rest uses in the same time. */
  readonly cpuMsPerJoin: Readonly<Record<string, number>>;
  /** Without the processes of members. */
  readonly hubCpuMsPerJoin: number;
  readonly agentCpuMsPerJoin: number;
  /** By process: share of one core while clusters only send heartbeats, in percent. */
  readonly restingCpuPercent: Readonly<Record<string, number>>;
  readonly agentResidentBytes: { readonly atReady: Spread; readonly later: Spread };
}

export interface Findings {
  readonly agentForm: AgentForm;
  readonly agentNodeFlags: readonly string[];
  readonly joins: readonly Join[];
  readonly writes: readonly AuditWrite[];
  readonly joinUsage: UsageWindow;
  readonly steady: Steady;
  readonly residentLater: readonly number[];
}

export function joinsResultOf(found: Findings): JoinsResult {
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
    agentForm: found.agentForm,
    agentNodeFlags: found.agentNodeFlags,
    count: joins.length,
    startToReadyMs: spreadOf(joins.map(({ startedAtMs, readyAtMs }) => readyAtMs - startedAtMs)),
    connectToReadyMs: spreadOf(joins.map(({ connectedAtMs, readyAtMs }) => readyAtMs - connectedAtMs)),
    startToConnectMs: spreadOf(joins.map(({ startedAtMs, connectedAtMs }) => connectedAtMs - startedAtMs)),
    startToLetInMs: spreadOf(joins.map(({ startedAtMs, letInAtMs }) => letInAtMs - startedAtMs)),
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
