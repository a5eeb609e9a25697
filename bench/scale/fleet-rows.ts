import type { ProjectorResult } from './measure-projector.ts';
import type { ReplicasResult } from '../joins/measure-replicas.ts';
import type { RequestsResult } from './measure-requests.ts';
import type { Steady } from '../joins/measure-steady.ts';
import { atMost, mebibytes, ms, type Row, seconds } from '../report/table-row.ts';

/** The same joins with one and two processes of each service. */
export function replicaRows(results: readonly ReplicasResult[]): Row[] {
  return results.flatMap(({ replicas, toReadyMs, joinsPerSecond, cpuMsPerJoin }) => [
    {
      what: `joins, ${replicas} of each service: first connection → Ready, p50`,
      is: `${ms(toReadyMs.p50)} (p99 ${ms(toReadyMs.p99)}); ${joinsPerSecond.toFixed(1)} a second at once`,
    },
    {
      what: '… CPU a join of those at once, in ms',
      is: Object.entries(cpuMsPerJoin)
        .map(([name, used]) => `${name} ${used.toFixed(1)}`)
        .join(', '),
    },
  ]);
}

/** A request that is about no cluster must not cost more because there are many. */
export function requestRows({ clusters, cpuMsPerRequest }: RequestsResult): Row[] {
  return (['read', 'write'] as const).map((what) => {
    const { empty, full } = cpuMsPerRequest[what];
    const ratio = full / empty;
    return {
      what: `API server CPU for a plain ${what}, ${clusters} clusters registered ÷ none`,
      is: `× ${ratio.toFixed(2)} (${full.toFixed(2)} ms ÷ ${empty.toFixed(2)} ms)`,
      target: atMost(ratio, 1.1, '× 1.10'),
    };
  });
}

export function restRows({ clusters, usage, list }: Steady): Row[] {
  return [
    {
      what: `Kubernetes writes of ${clusters} clusters that only send heartbeats, within ${seconds(usage.lastedMs)}`,
      is: `${list.length}`,
      target: { says: '0', isMet: list.length === 0 },
    },
    ...[...new Set(list)].map((write) => ({ what: '… of these', is: write })),
  ];
}

export function projectorRows({ clusters, ...result }: ProjectorResult): Row[] {
  const { transitionMs, comparedMs, writes } = result;
  return [
    {
      what: `projector started on a hub of ${clusters} shown clusters → a transition that it finds is shown`,
      is: seconds(transitionMs),
      target: atMost(transitionMs, 5000, '5 s'),
    },
    {
      what: '… → everything compared',
      is: seconds(comparedMs),
      target: atMost(comparedMs, 60_000, '60 s'),
    },
    { what: '… writes of what is equal', is: `${writes}`, target: { says: '0', isMet: writes === 0 } },
    { what: '… resident', is: mebibytes(result.residentBytes) },
  ];
}
