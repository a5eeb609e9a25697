import type { Trace } from '@rollcall/shared/bus';
import type { BulkChanges, StoredEvent } from '@rollcall/shared/events';
import {
  followUpRevocation,
  followUpRotation,
  mayEndInRevoked,
  releaseName,
} from './decision/events-after-decision.ts';
import { followUpLeaveRequest } from './decision/decide-leave.ts';
import {
  judgeHeldOfToken,
  judgeHeldRequests,
  judgeRequest,
  leavesRequestOpen,
  type JudgeParts,
} from './requests/judge-requests.ts';

/** What wakes the approver; what follows is in the record. */
export async function handleEvent(parts: JudgeParts, event: StoredEvent): Promise<void> {
  const { correlation, traceparent } = event;
  const trace = { correlation, traceparent };
  switch (`${event.kind}.${event.type}`) {
    case 'cluster.requested':
      return judgeRequest(parts, event.id, trace);
    case 'cluster.rotated':
      return followUpRotation(parts.log, event.id, { nowMs: parts.nowMs, trace });
    case 'cluster.leave-requested':
      return followUpLeaveRequest(parts, event.id, trace);
    case 'cluster.left':
      return releaseName(parts.log, event, trace);
    case 'policy.declared':
    case 'policy.withdrawn':
      return judgeHeldRequests(parts);
    case 'token.declared':
    case 'token.withdrawn':
      return judgeHeldOfToken(parts, event.id);
    case 'hub.bulk-confirmed':
    case 'token.published':
      // Both are acted on in `work`; nothing of a cluster follows from them here.
      return;
    default:
      if (leavesRequestOpen(event)) return judgeRequest(parts, event.id, trace);
      if (mayEndInRevoked(event)) await followUpRevocation(parts.log, event.id, trace);
  }
}

/** What an event that follows from this one carries on. */
export const traceOf = ({ correlation, traceparent }: StoredEvent): Trace => ({ correlation, traceparent });

/** Clusters that an event says may flood the hub; whether they do, and nobody has decided since, is in their records. */
export function maybeFlooding({ kind, type, id, section }: StoredEvent): readonly string[] {
  if (kind === 'cluster') return type === 'flooding' || type === 'flooded' ? [id] : [];
  if (type !== 'bulk-confirmed') return [];
  return ((section as BulkChanges).confirmed?.operations ?? []).map(({ clusterId }) => clusterId);
}
