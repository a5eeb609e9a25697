import {
  cleaned,
  type ClusterRecord,
  currentIdentity,
  draft,
  type EventDraft,
  leaveRequested,
} from '@rollcall/shared/events';
import { onlySignedBy, type SignedMessage } from '@rollcall/shared/trust';
import { isKeyTakenBack, leavingKeyOf } from '../replies/key-status.ts';

/** Whoever else asks in the name of a cluster cannot make its owner leave; nor can an owner whose key was taken back, who would come back as new. */
function mayAskToLeave(record: ClusterRecord, agentKey: string): boolean {
  const identity = currentIdentity(record);
  if (!identity || isKeyTakenBack(record, agentKey)) return false;
  const owner = record.decision?.approvedKey ?? identity.admittedKey ?? identity.request.key;
  return owner === agentKey;
}

/**
 * Whether it is for the approver to decide what this key asks, or has asked: of many, two a second while others join, or when a
 * person confirms it.
 */
export function isLeaveUndecided(record: ClusterRecord, agentKey: string): boolean {
  return record.decision?.verdict !== 'leaving' && mayAskToLeave(record, agentKey);
}

/**
 * What an agent says about leaving: that it wants to, or that it has removed what was installed in the member.
 * @param said.proof - the request as it signed it: the approver believes it, and not us
 * @returns no drafts for a repetition, and for what is not its to say; the reply is where the key stands in any case
 */
export function judgeLeave(
  said: { agentKey: string; done: boolean; proof: SignedMessage },
  { record, nowMs }: { record: ClusterRecord; nowMs: number },
): EventDraft[] {
  const { agentKey, done, proof } = said;
  const { identity } = record;
  if (!identity) return [];
  const before = identity.leave?.key === agentKey ? identity.leave : undefined;
  if (leavingKeyOf(record) === agentKey) {
    if (!done || before?.cleanedAtMs !== undefined) return [];
    const section = { ...identity, leave: { ...before, key: agentKey, cleanedAtMs: nowMs } };
    const message = 'the agent has removed what was installed in the member';
    return [draft(cleaned, record, { reason: 'Cleaned', message, section })];
  }
  if (!isLeaveUndecided(record, agentKey) || before?.signedAtMs !== undefined) return [];
  const section = {
    ...identity,
    leave: { key: agentKey, signedAtMs: nowMs, proof: onlySignedBy(proof, [agentKey]) },
  };
  return [
    draft(leaveRequested, record, { reason: 'LeaveRequested', message: 'the agent asked to leave', section }),
  ];
}
