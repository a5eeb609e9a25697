import { agentAwaitedUntilMs, type ClusterRecord } from '@rollcall/shared/events';
import type { Judged } from '../condition-list.ts';
import { hubTime } from '../hub-time.ts';
import { hasLeft } from '../registration-phase.ts';
import { type ClusterProjection, timeOf } from './cluster-projection.ts';

interface Remaining {
  readonly reason: 'AccessRemoval' | 'WaitingForAgent' | 'Leaving';
  readonly message: string;
}

/**
 * What is still to be done of a leaving cluster. The reason is the first of it that has a reason of its own: what the hub has
 * to take away counts before what the member has.
 */
function remaining(record: ClusterRecord): Remaining {
  const { identity, decision, access, cut } = record;
  const key = identity?.admittedKey;
  const isAccessLeft = access !== undefined && access.state !== 'deprovisioned';
  const untilMs = agentAwaitedUntilMs(record);
  const what = [
    ...(key !== undefined && cut?.key !== key ? ['its connection'] : []),
    ...(isAccessLeft ? [`its access in namespace "${decision?.namespace ?? access.namespace}"`] : []),
    ...(untilMs === undefined
      ? []
      : [`the agent, which removes itself from the member and has until ${hubTime(untilMs)}`]),
    'the word of the registrar',
  ];
  const reason = isAccessLeft ? 'AccessRemoval' : untilMs === undefined ? 'Leaving' : 'WaitingForAgent';
  const stays =
    access?.namespaceStays === undefined
      ? ''
      : `; namespace "${access.namespace}" stays, ${access.namespaceStays}`;
  return { reason, message: `remaining: ${what.join(', ')}${stays}` };
}

/** Whether the cluster leaves, and what of that is still to be done. */
export function deletingCondition(projection: ClusterProjection): Judged {
  const type = 'Deleting';
  const atMs = timeOf(projection, 'approver');
  if (hasLeft(projection.record))
    return { type, status: 'True', reason: 'Left', message: 'nothing remains', atMs };
  if (projection.record.decision?.verdict === 'leaving') {
    return { type, status: 'True', ...remaining(projection.record), atMs };
  }
  return projection.isDeletionAsked
    ? {
        type,
        status: 'True',
        reason: 'WaitingForDecision',
        message:
          'deletion was asked for; the hub has not decided yet (many at once wait until a person confirms them: rollcall get operations)',
        atMs,
      }
    : { type, status: 'False', reason: 'NotLeaving', message: '', atMs };
}
