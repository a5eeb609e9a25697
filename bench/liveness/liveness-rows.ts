import type { DurabilityResult } from '../joins/measure-durability.ts';
import type { LivenessResult } from './measure-liveness.ts';
import { atMost, ms, type Row } from '../report/table-row.ts';

/** How soon a dead cluster is known. */
export function livenessRows({ killed, unreachableMs, graceMs, ...result }: LivenessResult): Row[] {
  const { liveMs, suspectMs, notTrueMs, falseMs } = killed;
  const longestMs = 1.5 * graceMs;
  return [
    {
      what: `kill -9 of an agent (${result.kills}) → live message, p99`,
      is: `${ms(liveMs.p99)} (p50 ${ms(liveMs.p50)})`,
      target: atMost(liveMs.p99, 30, '30 ms'),
    },
    {
      what: '… → suspect stored, p99',
      is: `${ms(suspectMs.p99)} (p50 ${ms(suspectMs.p50)})`,
      target: atMost(suspectMs.p99, 2200, '2,200 ms'),
    },
    {
      what: '… → Ready is not True in Kubernetes, p99',
      is: `${ms(notTrueMs.p99)} (p50 ${ms(notTrueMs.p50)})`,
      target: atMost(notTrueMs.p99, 3200, '3,200 ms'),
      ocm: '283,000–293,000 ms',
      clusternet: '958,000–1,000,000 ms',
    },
    {
      what: `… → Ready=False, p99 (grace ${ms(graceMs)})`,
      is: `${ms(falseMs.p99)} (p50 ${ms(falseMs.p50)})`,
      target: atMost(falseMs.p99, graceMs + 1000, 'grace + 1,000 ms'),
    },
    {
      what: `last heartbeat of a silent agent (${result.silences}, one each ${ms(result.intervalMs)}) → Unreachable, p99`,
      is: ms(unreachableMs.p99),
      target: atMost(unreachableMs.p99, longestMs, `1.5 × ${ms(graceMs)}`),
    },
    {
      what: '… the earliest',
      is: ms(unreachableMs.least),
      target: { says: `≥ ${ms(graceMs)}`, isMet: unreachableMs.least >= graceMs },
    },
  ];
}

/** The same joins on each kind of hub. */
export function durabilityRows(results: readonly DurabilityResult[]): Row[] {
  return results.map(({ servers, isSynced, toReadyMs, joinsPerSecond }) => ({
    what: `joins, ${servers} server${servers === 1 ? '' : 's'}, ${isSynced ? 'sync_interval: always' : 'without sync'}: first connection → Ready, p50`,
    is: `${ms(toReadyMs.p50)} (p99 ${ms(toReadyMs.p99)}); ${joinsPerSecond.toFixed(1)} a second at once`,
  }));
}
