import type { Judged } from '../condition-list.ts';
import { type ClusterProjection, timeOf } from './cluster-projection.ts';

/** `ClockSynced`, as the agent finds it, by the hub's answers; it says nothing of a clock that is within 5 s. */
export function clockCondition(projection: ClusterProjection): Judged {
  const { facts } = projection;
  const [type, atMs] = ['ClockSynced', timeOf(projection, 'approver')] as const;
  if (!facts) {
    const message = 'the agent has not compared its clock';
    return { type, status: 'Unknown', reason: 'NotReported', message, atMs };
  }
  const ahead = facts.clockAheadSeconds;
  if (ahead === undefined) {
    const message = "the agent finds its clock within 5 s of the hub's";
    return { type, status: 'True', reason: 'ClockNear', message, atMs };
  }
  const off = `${Math.abs(ahead)} s ${ahead > 0 ? 'ahead of' : 'behind'}`;
  return {
    type,
    status: 'False',
    reason: 'ClockOff',
    message: `the clock of the agent is ${off} the hub's`,
    atMs,
  };
}
