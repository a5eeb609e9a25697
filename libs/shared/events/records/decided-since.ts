import { isAhead } from '../clocks-differ.ts';
import type { EventWriter } from '../define-event.ts';
import { type ClusterRecord, isNewer } from './fold-record.ts';

/**
 * Whether the approver has decided about a cluster since an owner told something of it. By their times, because later events of that owner
 * carry on what it told; where a clock was ahead, by the order of their newest events.
 */
export function isDecidedSince(
  { decision, lastOf }: Pick<ClusterRecord, 'decision' | 'lastOf'>,
  told: { readonly atMs: number; readonly by: EventWriter },
  nowMs: number,
): boolean {
  if (!decision) return false;
  const { decidedAtMs } = decision;
  if (!isAhead(decidedAtMs, nowMs) && !isAhead(told.atMs, nowMs)) return decidedAtMs >= told.atMs;
  const [decided, last] = [lastOf.approver, lastOf[told.by]];
  return decided !== undefined && last !== undefined && isNewer(decided, last);
}
