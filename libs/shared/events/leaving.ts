import type { Decision } from './types/approver-events.ts';
import type { ClusterRecord } from './records/fold-record.ts';

/** Whether the key belongs to a cluster that left, or is leaving: it stays out for good. */
export function isTombstoned(decision: Pick<Decision, 'revokedKeys'> | undefined, key: string): boolean {
  return decision?.revokedKeys.some((revoked) => revoked.key === key && revoked.left === true) ?? false;
}

/**
 * Until when the hub waits for the agent of a leaving cluster. What the agent has to do is in the member; nothing on the hub
 * waits for it but the end of the object and of the name.
 * @returns hub time in ms; undefined where nobody waits (any more)
 */
export function agentAwaitedUntilMs({
  identity,
  decision,
}: Pick<ClusterRecord, 'identity' | 'decision'>): number | undefined {
  if (decision?.verdict !== 'leaving' || decision.forced) return undefined;
  return identity?.leave?.cleanedAtMs === undefined ? decision.leaveUntilMs : undefined;
}
