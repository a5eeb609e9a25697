import {
  cleaned,
  type ClusterRecord,
  currentIdentity,
  draft,
  type EventDraft,
  leaveAsked,
} from '@rollcall/shared/events';
import { onlySignedBy, type SignedMessage } from '@rollcall/shared/trust';

/**
 * The key whose agent is told that its cluster leaves: that of the owner; of a cluster that nobody was let in for, the one
 * that asked.
 */
export function leavingKeyOf({ identity, decision }: ClusterRecord): string | undefined {
  if (!identity || identity.state === 'left' || decision?.verdict !== 'leaving') return undefined;
  return identity.admittedKey ?? identity.request.key;
}

/** Whoever else asks in the name of a cluster cannot make its owner leave. */
function mayAskToLeave(record: ClusterRecord, agentKey: string): boolean {
  const identity = currentIdentity(record);
  if (!identity) return false;
  const owner = record.decision?.approvedKey ?? identity.admittedKey ?? identity.request.key;
  return owner === agentKey;
}

/**
 * What an agent says about leaving: that it wants to, or that it has removed what was installed in the member.
 * @param said.proof - the ask as it signed it: the approver believes it, and not us
 * @returns no drafts for a repetition, and for what is not its to say; the answer is where the key stands in any case
 */
export function judgeLeave(
  said: { agentKey: string; done: boolean; proof: SignedMessage },
  { record, nowMs }: { record: ClusterRecord; nowMs: number },
): EventDraft[] {
  const { agentKey, done, proof } = said;
  const { identity, decision } = record;
  if (!identity) return [];
  const before = identity.leave?.key === agentKey ? identity.leave : undefined;
  if (leavingKeyOf(record) === agentKey) {
    if (!done || before?.cleanedAtMs !== undefined) return [];
    const section = { ...identity, leave: { ...before, key: agentKey, cleanedAtMs: nowMs } };
    const message = 'the agent has removed what was installed in the member';
    return [draft(cleaned, record, { reason: 'Cleaned', message, section })];
  }
  if (decision?.verdict === 'leaving' || !mayAskToLeave(record, agentKey) || before?.askedAtMs !== undefined)
    return [];
  const section = {
    ...identity,
    leave: { key: agentKey, askedAtMs: nowMs, proof: onlySignedBy(proof, [agentKey]) },
  };
  return [draft(leaveAsked, record, { reason: 'LeaveAsked', message: 'the agent asked to leave', section })];
}
