import { atLeast, atMost, coresOf, mebibytes, ms, percent, type Row } from '../report/table-row.ts';
import type { ReachResult } from './measure-reach.ts';

const millis = (value: number) => `${value.toFixed(1)} ms`;

export function reachRows({
  getMs,
  getsPerSecond,
  listsPerSecond,
  watchLaterMs,
  idle,
  joinMs,
}: ReachResult): Row[] {
  const moreMs = getMs.byHub.p50 - getMs.direct.p50;
  const share = listsPerSecond.byHub / listsPerSecond.direct;
  const slower = joinMs.beside.p50 / joinMs.alone.p50;
  const used = Object.values(idle.moreCores).reduce((sum, one) => sum + one, 0);
  return [
    {
      what: "a member's API through the hub: GET, p50 more than directly",
      is: `${millis(moreMs)} (${millis(getMs.byHub.p50)}, directly ${millis(getMs.direct.p50)})`,
      target: atMost(moreMs, 2.5, '2.5 ms'),
    },
    {
      what: '… GETs a second, 32 at once, with everything on these cores',
      is: `${getsPerSecond.byHub.toFixed(0)} (directly ${getsPerSecond.direct.toFixed(0)})`,
      target: atLeast(getsPerSecond.byHub, 900, '900'),
    },
    {
      what: '… lists of 8 MB, of the direct rate',
      is: `${percent(share)} (${(8 * listsPerSecond.byHub).toFixed(0)} MB/s)`,
      target: atLeast(share, 0.8, '80 %'),
    },
    {
      what: '… a change in a watch, later than in one beside it, p50',
      is: `${millis(watchLaterMs.p50)} (p99 ${millis(watchLaterMs.p99)})`,
      target: atMost(watchLaterMs.p50, 10, '10 ms'),
    },
    {
      what: `… ${idle.watches} idle watches of ${idle.clusters} clusters: more in the process of the services`,
      is: mebibytes(idle.moreInHubBytes),
      target: atMost(idle.moreInHubBytes, 100e6, '100 MB'),
    },
    {
      what: '… and in an agent, at most',
      is: mebibytes(idle.moreInAgentBytes),
      target: atMost(idle.moreInAgentBytes, 10e6, '10 MB'),
    },
    { what: '… cores that they take', is: coresOf(idle.moreCores), target: atMost(used, 0.05, '0.05') },
    {
      what: '… agent start → Ready while one person lists as fast as it goes, p50',
      is: `${ms(joinMs.beside.p50)} (alone ${ms(joinMs.alone.p50)})`,
      target: atMost(slower, 1.5, '1.5 × alone'),
    },
  ];
}
