import type { BenchResult } from './result.ts';

/** What was measured of others, on a 2-core machine with kube-apiserver 1.36; beside ours for the ratio, not for the size. */
interface Row {
  readonly what: string;
  readonly is: string;
  readonly target?: { readonly says: string; readonly isMet: boolean };
  readonly ocm?: string;
  readonly clusternet?: string;
}

const ms = (value: number) => `${value.toFixed(0)} ms`;
const mebibytes = (bytes: number) => `${(bytes / 1024 / 1024).toFixed(1)} MiB`;
const atMost = (value: number, bound: number, says: string) => ({ says: `≤ ${says}`, isMet: value <= bound });

function rowsOf(result: BenchResult): Row[] {
  const { startToReadyMs: whole, connectToReadyMs: ours, startToConnectMs: before, writes, steady } = result;
  const resident = result.agentResidentBytes;
  return [
    {
      what: 'agent start → Ready, p50',
      is: ms(whole.p50),
      target: atMost(whole.p50, 600, '600 ms'),
      ocm: '2,800 ms',
      clusternet: '6,900 ms',
    },
    { what: 'agent start → Ready, p99', is: ms(whole.p99) },
    { what: 'agent start → first connection, p50', is: ms(before.p50) },
    {
      what: 'first connection → Ready, p50',
      is: ms(ours.p50),
      target: atMost(ours.p50, 250, '250 ms'),
    },
    { what: 'first connection → Ready, p99', is: ms(ours.p99) },
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
      target: atMost(resident.later.p50, 65e6, '65 MB'),
      ocm: '88 MB',
      clusternet: '73 MB',
    },
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
  const { machine } = result;
  const rows = rowsOf(result).map(({ what, is, target, ocm = '', clusternet = '' }) => [
    what,
    is,
    target ? `${target.says} ${target.isMet ? 'met' : 'MISSED'}` : '',
    ocm,
    clusternet,
  ]);
  return `${tableOf([['', 'ROLLCALL', 'TARGET', 'OCM *', 'CLUSTERNET *'], ...rows])}

* measured elsewhere, on a 2-core machine
writes of one join: ${result.writes.list.join(', ')}${steadyText(result)}
${result.joins} joins, one after the other; agents ${result.agentForm === 'compiled' ? 'compiled, as images hold them' : 'run from TypeScript'}${result.agentNodeFlags.map((flag) => ` ${flag}`).join('')}; services in one process, as \`rollcall up\`; members share a second API server
${machine.cores} cores, ${machine.cpu}; Node ${machine.node}; load ${machine.loadBefore.toFixed(1)} before, ${machine.loadAfter.toFixed(1)} after
Rollcall ${result.version}, commit ${result.commit}, ${result.date}
`;
}

function steadyText({ steady }: BenchResult): string {
  return steady.list.length === 0 ? '' : `\nwrites at rest: ${[...new Set(steady.list)].join(', ')}`;
}
