import type { Limiter } from './queues/limiter.ts';
import type { Machine } from './queues/machine.ts';
import type { Numbers } from './numbers/numbers.ts';
import { type Figure, type ScenarioName, scenarios } from './scenarios.ts';
import { createWorld } from './world.ts';

/** How a machine bore it. */
export interface MachineLoad {
  readonly name: string;
  readonly busyShare: number;
  readonly peakShare: number;
  /** Of work that waited for a core. */
  readonly waitMs: { readonly p50: number; readonly p99: number };
  readonly gaveUp: number;
}

export interface ScenarioResult {
  readonly scenario: ScenarioName;
  readonly clusters: number;
  readonly grain: number;
  readonly lastedMs: number;
  readonly figures: readonly Figure[];
  readonly machines: readonly MachineLoad[];
}

export interface RunOptions {
  readonly numbers: Numbers;
  readonly clusters: number;
  readonly seed: number;
  /** Beyond so many, some agents are followed as one. */
  readonly followed: number;
}

/** Agents that one scenario is about. */
function agentsIn(scenario: ScenarioName, { clusters, numbers }: RunOptions): number {
  switch (scenario) {
    case 'rest':
      // Of an hour, in which each has something to say.
      return clusters / 6;
    case 'burst':
      return clusters * numbers.joinShare;
    case 'leaving':
      return clusters * numbers.leaveShare;
    case 'server-lost':
      return clusters / numbers.natsServers;
    case 'outage':
    case 'blink':
    case 'lapsed':
      return clusters;
    default:
      return 0;
  }
}

/** Who waits on a machine is who waits for the process that it is there for, the first. */
function loadOf(machine: Machine): MachineLoad {
  const [first] = machine.processes;
  const { busyShare, peakShare, name } = machine;
  const gaveUp = machine.processes.reduce((sum, process) => sum + process.gaveUp(), 0);
  const waited = (share: number) => (first && first.waits.count() > 0 ? first.waits.quantileMs(share) : 0);
  return {
    name,
    busyShare: busyShare(),
    peakShare: peakShare(),
    waitMs: { p50: waited(0.5), p99: waited(0.99) },
    gaveUp,
  };
}

/** No machine, but it makes wait as one does. */
function loadOfBudget({ perSecond, passed, waits }: Limiter, lastedMs: number): MachineLoad {
  const share = (passed() * 1000) / perSecond / Math.max(1, lastedMs);
  const waited = (at: number) => (waits.count() > 0 ? waits.quantileMs(at) : 0);
  return {
    name: 'write budget of a projector',
    busyShare: share,
    peakShare: share,
    waitMs: { p50: waited(0.5), p99: waited(0.99) },
    gaveUp: 0,
  };
}

/** Of machines that do the same the one with most to do stands for all. */
function worstOfEachKind(loads: readonly MachineLoad[]): MachineLoad[] {
  const worst = new Map<string, MachineLoad>();
  for (const load of loads) {
    const kind =
      load.name === 'NATS server 1' ? 'NATS server with the leader' : load.name.replace(/ \d+$/, '');
    const name = kind === 'NATS server' ? 'NATS server, another' : kind;
    const known = worst.get(name);
    if (!known || load.busyShare > known.busyShare) worst.set(name, { ...load, name });
  }
  return [...worst.values()];
}

export function runScenario(scenario: ScenarioName, options: RunOptions): ScenarioResult {
  const { clusters, followed } = options;
  const grain = Math.max(1, Math.ceil(agentsIn(scenario, options) / followed));
  const world = createWorld({ ...options, grain });
  const figures = scenarios[scenario].run(world);
  const lastedMs = world.timeline.nowMs();
  const budgets = world.writeBudgets.map((budget) => loadOfBudget(budget, lastedMs));
  return {
    scenario,
    clusters,
    grain,
    lastedMs,
    figures,
    machines: worstOfEachKind([...world.machines.map(loadOf), ...budgets]),
  };
}
