import { atMost, mebibytes, type Row, seconds } from '../report/table-row.ts';
import type { InstalledResult } from './measure-installed.ts';

export function installedRows(result: InstalledResult): Row[] {
  const { rounds, installMs, restarts, agents, natsDeletedMs, upgradeMs, leftReady, atOnce, nodeOffMs } =
    result;
  const sets = Object.entries(result.workingSetBytes).map(([pod, bytes]) => [pod, mebibytes(bytes)] as const);
  return [
    {
      what: `on a node: install all-in-one → Ready, p50 of ${rounds}`,
      is: seconds(installMs.p50),
      target: atMost(installMs.p50, 12_000, '12 s'),
    },
    {
      what: '… restarts of containers meanwhile',
      is: String(restarts),
      target: { says: '0', isMet: restarts === 0 },
    },
    {
      what: `… pod of the NATS server deleted → ${agents} agents heard again, p99`,
      is: `${seconds(natsDeletedMs.p99)} (p50 ${seconds(natsDeletedMs.p50)})`,
      target: atMost(natsDeletedMs.p99, 8000, '8 s'),
    },
    {
      what: '… every pod made anew: NATS pod deleted → agents heard again, p99',
      is: `${seconds(upgradeMs.p99)} (p50 ${seconds(upgradeMs.p50)})`,
      target: atMost(upgradeMs.p99, 5000, '5 s'),
    },
    {
      what: '… clusters that left Ready in all of that',
      is: String(leftReady),
      target: { says: '0', isMet: leftReady === 0 },
    },
    {
      what: `… ${atOnce.members} members at once: joins a second`,
      is: `${atOnce.joinsPerSecond.toFixed(1)} (on the hub of rollcall up ${atOnce.embeddedJoinsPerSecond.toFixed(1)})`,
    },
    {
      what: '… three servers, a node without power → next join Ready, p50',
      is: `${seconds(nodeOffMs.p50)} (p99 ${seconds(nodeOffMs.p99)})`,
      target: atMost(nodeOffMs.p50, 10_000, '10 s'),
    },
    ...sets.map(([pod, size]) => ({ what: `… working set of ${pod}`, is: size })),
  ];
}
