import type { HeartbeatsOfSize, HeartbeatsResult } from './measure-heartbeats.ts';
import type { RestartOfSize, RestartResult } from './measure-restart.ts';
import { atMost, mebibytes, percent, type Row, seconds } from '../report/table-row.ts';

function sizeRows(
  { clusters, cpuShare, timesEmpty, residentBytes, ...size }: HeartbeatsOfSize,
  rate: number,
): Row[] {
  const isWhole = clusters === 1_000_000;
  const row = (what: string, is: string, target: Row['target']): Row =>
    isWhole && target ? { what, is, target } : { what, is };
  return [
    row(
      `heartbeats of ${clusters} clusters (${rate} a second): share of one core`,
      `${percent(cpuShare)} (${size.cpuUsPerHeartbeat.toFixed(2)} µs a heartbeat)`,
      atMost(cpuShare, 0.12, '12 %'),
    ),
    row('… times an empty subscriber', `× ${timesEmpty.toFixed(2)}`, atMost(timesEmpty, 1.5, '× 1.5')),
    row('… resident', mebibytes(residentBytes), atMost(residentBytes, 300e6, '300 MB')),
    ...(size.lost + size.wrong === 0
      ? []
      : [
          {
            what: '… heartbeats lost, transitions that were wrong',
            is: `${size.lost}, ${size.wrong}`,
            target: { says: '0, 0', isMet: false },
          },
        ]),
  ];
}

/** What a heartbeat costs must not depend on how many clusters there are. */
export function heartbeatRows({ sizes, emptyCpuShare, ratePerSecond }: HeartbeatsResult): Row[] {
  const costs = sizes.map(({ cpuUsPerHeartbeat }) => cpuUsPerHeartbeat);
  const spread = Math.max(...costs) / Math.min(...costs) - 1;
  return [
    ...sizes.flatMap((size) => sizeRows(size, ratePerSecond)),
    {
      what: 'CPU a heartbeat, dearest ÷ cheapest size',
      is: `+ ${percent(spread)}`,
      target: atMost(spread, 0.2, '20 %'),
    },
    { what: '… an empty subscriber: share of one core', is: percent(emptyCpuShare) },
  ];
}

function restartRowsOf(size: RestartOfSize, isLargest: boolean): Row[] {
  const { clusters, events, readyMs, streamBytes } = size;
  return [
    {
      what: `heartbeat service started on a hub of ${clusters} clusters (${events} events) → ready`,
      is: seconds(readyMs),
      ...(isLargest ? { target: atMost(readyMs, 5000, '5 s') } : {}),
    },
    {
      what: '… its CPU, and the server’s',
      is: `${seconds(size.serviceCpuMs)}, ${seconds(size.serverCpuMs)}`,
    },
    {
      what: '… resident, and the server',
      is: `${mebibytes(size.residentBytes)}, ${mebibytes(size.serverResidentBytes)}`,
    },
    { what: '… stream, bytes a cluster', is: (streamBytes / clusters).toFixed(0) },
  ];
}

export function restartRows(sizes: RestartResult): Row[] {
  return sizes.flatMap((size, index) => restartRowsOf(size, index === sizes.length - 1));
}
