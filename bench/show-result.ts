import { installedRows } from './installed/installed-rows.ts';
import type { JoinsResult } from './joins/joins-result.ts';
import { heartbeatRows, restartRows } from './liveness/heartbeat-rows.ts';
import { projectorRows, replicaRows, requestRows, restRows } from './scale/fleet-rows.ts';
import { durabilityRows, livenessRows } from './liveness/liveness-rows.ts';
import { herdRows, lapsedRows } from './liveness/herd-rows.ts';
import type { BurstResult } from './joins/measure-burst.ts';
import type { CliStartResult } from './scale/measure-cli-start.ts';
import type { PolicyResult } from './scale/measure-policies.ts';
import type { SimulationResult } from './scale/measure-simulation.ts';
import type { BenchResult } from './result.ts';
import { consoleRows } from './scale/console-rows.ts';
import { everythingRows, hostedRows, leavingRows, nodesRows, reachNotes } from './scale/reach-rows.ts';
import { reachRows } from './reach/reach-rows.ts';
import { atLeast, atMost, mebibytes, ms, percent, type Row, seconds } from './report/table-row.ts';
import { soakRows } from './soak/soak-rows.ts';
import { trustRows } from './trust/trust-rows.ts';

function joinRows(result: JoinsResult): Row[] {
  const { startToReadyMs: whole, connectToReadyMs: ours, startToConnectMs: before, writes, steady } = result;
  const { startToLetInMs: letIn } = result;
  const resident = result.agentResidentBytes;
  return [
    {
      what: 'agent start → Ready, p50',
      is: ms(whole.p50),
      target: atMost(whole.p50, 350, '350 ms'),
      ocm: '2,800 ms',
      clusternet: '6,900 ms',
    },
    { what: 'agent start → Ready, p99', is: ms(whole.p99), target: atMost(whole.p99, 800, '800 ms') },
    { what: 'agent start → first connection, p50', is: ms(before.p50) },
    {
      what: 'agent start → connected, p50',
      is: `${ms(letIn.p50)} (p99 ${ms(letIn.p99)})`,
      target: atMost(letIn.p50, 250, '250 ms'),
    },
    {
      what: 'first connection → Ready, p50',
      is: ms(ours.p50),
      target: atMost(ours.p50, 120, '120 ms'),
    },
    { what: 'first connection → Ready, p99', is: ms(ours.p99), target: atMost(ours.p99, 400, '400 ms') },
    {
      what: 'writes per join, by Rollcall for the cluster',
      is: writes.most === writes.median ? `${writes.median}` : `${writes.median} (most ${writes.most})`,
      target: atMost(writes.median, 7, '7'),
      ocm: '24',
      clusternet: '18',
    },
    { what: '… of these stored', is: `${writes.storedMedian}`, ocm: '22', clusternet: '16' },
    { what: '… token and set status, per join', is: writes.coalescedPerJoin.toFixed(2) },
    { what: '… by Rollcall for anything else', is: writes.otherPerJoin.toFixed(2) },
    { what: '… by Kubernetes itself', is: writes.kubernetesPerJoin.toFixed(2) },
    {
      what: `writes per cluster and minute at rest (${steady.clusters} clusters, ${steady.seconds.toFixed(0)} s)`,
      is: steady.writesPerClusterAndMinute.toFixed(3),
      target: { says: '0', isMet: steady.writesPerClusterAndMinute === 0 },
      ocm: '0.89 (+ 0.89 GET)',
      clusternet: '0.33 (+ 0.5 no-op)',
    },
    {
      what: 'CPU per join, all processes of the hub',
      is: ms(result.hubCpuMsPerJoin),
      ocm: '230–300 ms',
      clusternet: '171–176 ms',
    },
    ...Object.entries(result.cpuMsPerJoin).map(([name, used]) => ({
      what: `… ${name}`,
      is: `${ms(used)} (at rest ${(result.restingCpuPercent[name] ?? 0).toFixed(1)} %)`,
    })),
    { what: 'CPU of the agent until Ready', is: ms(result.agentCpuMsPerJoin) },
    {
      what: 'agent memory, resident, p50',
      is: `${mebibytes(resident.later.p50)} (at Ready ${mebibytes(resident.atReady.p50)})`,
      target: atMost(resident.later.p50, 60e6, '60 MB'),
      ocm: '88 MB',
      clusternet: '73 MB',
    },
  ];
}

function sum(used: Readonly<Record<string, number>>): number {
  return Object.values(used).reduce((total, one) => total + one, 0);
}

/** From this size on what a burst costs in the beginning does not count any more. */
const manyAgents = 1000;

function burstRows({ agents, joinsPerSecond, toReadyMs, replay, ...burst }: BurstResult): Row[] {
  const { agents: ofAgents = 0, ...ofHub } = burst.cpuMsPerJoin;
  const share = agents < manyAgents ? 0.35 : 0.55;
  return [
    {
      what: `${agents} agents at once: joins a second, as a share of the replay of their writes`,
      is: percent(burst.share),
      target: atLeast(burst.share, share, percent(share)),
    },
    { what: '… joins a second', is: joinsPerSecond.toFixed(1) },
    { what: `… replayed, ${replay.concurrency} at a time`, is: replay.joinsPerSecond.toFixed(1) },
    { what: '… writes replayed per join', is: replay.writesPerJoin.toFixed(2) },
    { what: '… start of all → Ready, p50', is: ms(toReadyMs.p50) },
    { what: '… start of all → Ready, p99', is: ms(toReadyMs.p99) },
    {
      what: '… CPU per join, all processes of the hub',
      is: ms(sum(ofHub)),
      target: atMost(sum(ofHub), 35, '35 ms'),
    },
    ...Object.entries(ofHub).map(([name, used]) => ({
      what: `…… ${name}`,
      is: `${ms(used)} (replayed ${ms(burst.replayCpuMsPerJoin[name] ?? 0)})`,
    })),
    { what: '… CPU per join of the agents, with the bench and its watch', is: ms(ofAgents) },
    { what: '… CPU per replayed join, with the bench', is: ms(sum(burst.replayCpuMsPerJoin)) },
    ...Object.entries(burst.residentBytes).map(([name, bytes]) => ({
      what: `… resident at the end, ${name}`,
      is: mebibytes(bytes),
    })),
  ];
}

function policyRows({ evaluationMs, requests, tryMs, tryCountingMs }: PolicyResult): Row[] {
  const tried = `policy try, ${requests} past requests in memory`;
  return [
    {
      what: 'policy evaluation, 10 policies × 10 rules, p50',
      is: `${evaluationMs.p50.toFixed(3)} ms`,
      target: atMost(evaluationMs.p50, 1, '1 ms'),
    },
    { what: '… p99', is: `${evaluationMs.p99.toFixed(3)} ms` },
    { what: tried, is: seconds(tryMs), target: atMost(tryMs, 30_000, '30 s') },
    {
      what: '… by policies that count the fleet',
      is: seconds(tryCountingMs),
      target: atMost(tryCountingMs, 30_000, '30 s'),
    },
  ];
}

function cliRows({ emptyNodeMs, versionMs, helpMs, getClustersMs }: CliStartResult): Row[] {
  const row = (what: string, { p50 }: { p50: number }): Row => ({
    what,
    is: `${ms(p50)} (× ${(p50 / emptyNodeMs.p50).toFixed(1)})`,
    target: atMost(p50, 200, '200 ms'),
  });
  return [
    row('rollcall --version, p50', versionMs),
    row('rollcall --help, p50', helpMs),
    row('rollcall get clusters without a hub, p50', getClustersMs),
    { what: '… a Node that does nothing', is: ms(emptyNodeMs.p50) },
  ];
}

function simulationRows({ seeds, seedsPerCoreSecond }: SimulationResult): Row[] {
  return [
    {
      what: `simulation of the decisions, seeds a core and second (${seeds})`,
      is: `${seedsPerCoreSecond}`,
      target: atLeast(seedsPerCoreSecond, 200, '200'),
    },
  ];
}

function rowsOf(result: BenchResult): Row[] {
  const { joins, burst, policies, cli, simulation } = result;
  return [
    ...(joins ? joinRows(joins) : []),
    ...(result.everything ? everythingRows(result.everything) : []),
    ...(burst ? burstRows(burst) : []),
    ...(policies ? policyRows(policies) : []),
    ...(cli ? cliRows(cli) : []),
    ...(result.console ? consoleRows(result.console) : []),
    ...(simulation ? simulationRows(simulation) : []),
    ...trustRows(result),
    ...(result.leaving ? leavingRows(result.leaving) : []),
    ...(result.hosted ? hostedRows(result.hosted) : []),
    ...(result.nodes ? nodesRows(result.nodes) : []),
    ...(result.installed ? installedRows(result.installed) : []),
    ...(result.reach ? reachRows(result.reach) : []),
    ...(result.heartbeats ? heartbeatRows(result.heartbeats) : []),
    ...(result.restart ? restartRows(result.restart) : []),
    ...(result.liveness ? livenessRows(result.liveness) : []),
    ...durabilityRows(result.durability ?? []),
    ...replicaRows(result.replicas ?? []),
    ...(result.requests ? requestRows(result.requests) : []),
    ...(result.rest ? restRows(result.rest) : []),
    ...(result.projector ? projectorRows(result.projector) : []),
    ...(result.herd ? herdRows(result.herd) : []),
    ...(result.lapsed ? lapsedRows(result.lapsed) : []),
    ...(result.soak ? soakRows(result.soak) : []),
  ];
}

function tableOf(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** The result as a table for people, with target and what others need beside each figure. */
export function showResult(result: BenchResult): string {
  const { machine, joins, burst } = result;
  const others = joins ? ['OCM *', 'CLUSTERNET *'] : [];
  const rows = rowsOf(result).map(({ what, is, target, ocm = '', clusternet = '' }) => [
    what,
    is,
    target ? `${target.says} ${target.isMet ? 'met' : 'MISSED'}` : '',
    ...(joins ? [ocm, clusternet] : []),
  ]);
  return `${tableOf([['', 'ROLLCALL', 'TARGET', ...others], ...rows])}

${joins ? joinNotes(joins) : ''}${burst ? burstNotes(burst) : ''}${reachNotes(result)}${machine.cores} cores, ${machine.cpu}; Node ${machine.node}; load ${machine.loadBefore.toFixed(1)} before, ${machine.loadAfter.toFixed(1)} after
Rollcall ${result.version}, commit ${result.commit}, ${result.date}
`;
}

function joinNotes({ writes, steady, count, agentForm, agentNodeFlags }: JoinsResult): string {
  const form = agentForm === 'compiled' ? 'compiled, as images hold them' : 'run from TypeScript';
  const flags = agentNodeFlags.map((flag) => ` ${flag}`).join('');
  const atRest = steady.list.length === 0 ? '' : `writes at rest: ${[...new Set(steady.list)].join(', ')}\n`;
  return `* measured elsewhere, on a 2-core machine
writes of one join: ${writes.list.join(', ')}
${atRest}${count} joins, one after the other; agents ${form}${flags}; services in one process, as \`rollcall up\`; members share a second API server
`;
}

function burstNotes({ troubles, replay }: BurstResult): string {
  const met = Object.entries(troubles).map(([what, count]) => `${what} (${count} times)`);
  const lines = [
    ...(met.length === 0 ? [] : [`what agents of the burst met: ${met.join(', ')}`]),
    ...(replay.refused.length === 0 ? [] : [`refused in the replay: ${replay.refused.join(', ')}`]),
  ];
  return lines.map((line) => `${line}\n`).join('');
}
