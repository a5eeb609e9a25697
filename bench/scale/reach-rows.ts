import type { Spread } from '../../cli/simulate/report/quantile.ts';
import type { JoinsResult } from '../joins/joins-result.ts';
import type { HostedResult } from './measure-hosted.ts';
import type { LeavingEnd, LeavingResult } from '../trust/measure-leaving.ts';
import type { NodesResult } from './measure-nodes.ts';
import type { PartResults } from '../result.ts';
import { atMost, coresOf, listOf, mebibytes, ms, type Row, seconds } from '../report/table-row.ts';

export function everythingRows({ writes, steady, count }: JoinsResult): Row[] {
  return [
    {
      what: `with nodes, claims, properties, labels and a set (${count} joins): writes per join`,
      is: `${writes.median} (most ${writes.most})`,
      target: atMost(writes.most, 7, '7'),
    },
    { what: '… token and set status, per join', is: writes.coalescedPerJoin.toFixed(2) },
    {
      what: `… writes per cluster and minute at rest (${steady.clusters} clusters, ${steady.seconds.toFixed(0)} s)`,
      is: steady.writesPerClusterAndMinute.toFixed(3),
      target: { says: '0', isMet: steady.writesPerClusterAndMinute === 0 },
    },
  ];
}

export function leavingRows(result: LeavingResult): Row[] {
  const { count, idleJoinMs: idle, joinMs, waitingJoinMs: waiting, stillThere, end } = result;
  const besideIdle = (joins: Spread) => ({
    is: `${ms(joins.p99)} (p50 ${ms(joins.p50)}; nobody leaves: p99 ${ms(idle.p99)}, p50 ${ms(idle.p50)})`,
    target: atMost(joins.p99 / idle.p99, 3, '3 × idle'),
  });
  return [
    {
      what: `others that join while ${count} leave at once, agent start → Ready, p99`,
      ...besideIdle(joinMs),
    },
    { what: '… once all have been told to, and wait for it', ...besideIdle(waiting) },
    { what: '… cores used while they are told', is: coresOf(result.cores) },
    { what: '… and while they wait', is: coresOf(result.waitingCores) },
    { what: '… and while nobody left', is: coresOf(result.idleCores) },
    {
      what: '… of those that leave, still there when the last of the others is Ready',
      is: String(stillThere),
    },
    ...(end === undefined ? [] : endRows(count, end)),
  ];
}

function endRows(count: number, { goneMs, namespacesGoneMs, leftBehind }: LeavingEnd): Row[] {
  return [
    { what: `${count} clusters deleted at once → last one gone`, is: seconds(goneMs) },
    { what: '… → last namespace gone, which Kubernetes does', is: seconds(namespacesGoneMs) },
    {
      what: '… left behind',
      is: listOf(leftBehind),
      target: { says: 'none', isMet: Object.keys(leftBehind).length === 0 },
    },
  ];
}

/** Clusters that the hub reaches by itself. */
export function hostedRows({ count, probes, pushReadyMs, pushWrites, ...pull }: HostedResult): Row[] {
  const { members, usedCores } = probes;
  const perMember = (probes.residentBytes - probes.residentBefore) / members;
  return [
    { what: `cluster with a kubeconfig made → Ready, Push (${count}), p50`, is: ms(pushReadyMs.p50) },
    { what: '… p99', is: ms(pushReadyMs.p99) },
    {
      what: '… writes per join, by Rollcall for the cluster',
      is: `${pushWrites.median} (most ${pushWrites.most})`,
    },
    { what: '… the same with Pull → agent installed, p50', is: ms(pull.pullInstalledMs.p50) },
    {
      what: '… → Ready, with the start of the agent and no image to pull, p50',
      is: `${ms(pull.pullReadyMs.p50)} (p99 ${ms(pull.pullReadyMs.p99)})`,
    },
    { what: `${members} members of one agent host made → all Ready`, is: seconds(probes.allReadyMs) },
    {
      what: `… resident, all of them probed`,
      is: `${mebibytes(probes.residentBytes)} (before ${mebibytes(probes.residentBefore)}; ${(perMember / 1024).toFixed(0)} KiB a member)`,
    },
    ...Object.entries(usedCores).map(([name, cores]) => ({
      what: `… cores used, ${name} (${probes.seconds.toFixed(0)} s)`,
      is: cores.toFixed(3),
    })),
  ];
}

/** A member of many nodes. */
export function nodesRows({
  nodes,
  nodeBytes,
  without,
  listed,
  reporting,
  changed,
  ...shown
}: NodesResult): Row[] {
  const more = listed.residentBytes - without.residentBytes;
  return [
    {
      what: `agent of a member with ${nodes} nodes of ${nodeBytes} bytes, resident`,
      is: `${mebibytes(listed.residentBytes)} (without nodes ${mebibytes(without.residentBytes)}, more ${mebibytes(more)})`,
    },
    {
      what: '… the most that it ever had',
      is: `${mebibytes(listed.peakBytes)} (without nodes ${mebibytes(without.peakBytes)})`,
    },
    {
      what: '… while kubelets report and nothing changes, share of a core',
      is: `${reporting.cpuPercent.toFixed(2)} % (resident ${mebibytes(reporting.residentBytes)})`,
    },
    { what: '… start → all nodes shown on the hub', is: seconds(shown.startToShownMs) },
    {
      what: `… last of ${changed.nodes} changes → shown on the hub`,
      is: `${seconds(shown.lastChangeToShownMs)} (resident ${mebibytes(changed.residentBytes)})`,
    },
  ];
}

/** Lists that are too long for the table. */
export function reachNotes({ leaving, hosted }: PartResults): string {
  return [
    ...(leaving?.end ? [`there of the clusters before they left: ${listOf(leaving.end.there)}`] : []),
    ...(hosted ? [`writes of one join in mode Push: ${hosted.pushWrites.list.join(', ')}`] : []),
  ]
    .map((line) => `${line}\n`)
    .join('');
}
