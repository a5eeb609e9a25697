import {
  type AggregateRecord,
  type AuthorUnknown,
  type PolicyDeclaration,
  policyDeclaration,
} from '@rollcall/shared/events';
import type { ApprovalPolicy } from '@rollcall/shared/resources';
import { asReason } from '@rollcall/shared/resources/condition-reason';
import { cutText } from '@rollcall/shared/text';
import { conditionList, type Judged, longestMessage } from './condition-list.ts';

export type PolicyStatus = NonNullable<ApprovalPolicy['status']>;

/** Whether the approver has judged what the object says now, for good or for bad. */
export function isPolicyJudged(record: AggregateRecord | undefined, current: ApprovalPolicy): boolean {
  const declaration = record && policyDeclaration(record);
  const { uid, generation } = current.metadata;
  if (!declaration || declaration.withdrawn || declaration.uid !== uid) return false;
  return (declaration.problem?.generation ?? declaration.generation) === generation;
}

/** What compiles and most likely is not meant; of the version that is in force. */
function warningOf(warnings: NonNullable<PolicyDeclaration['warnings']>, atMs: number): Judged {
  const [first] = warnings;
  return {
    type: 'Warning',
    status: first ? 'True' : 'False',
    reason: first ? asReason(first.reason, 'Warning') : 'NoWarning',
    message: warnings.map(({ message }) => message).join('; '),
    atMs,
  };
}

/**
 * The status of a policy. While a generation does not compile, the rules of the last one that did stay in force.
 * @param nowMs - hub time, for what no event tells: that the approver has not come to it yet
 * @param unknown - why it does not come to it
 */
export function desiredPolicy(
  record: AggregateRecord,
  current: ApprovalPolicy,
  nowMs: number,
  unknown?: AuthorUnknown,
): PolicyStatus {
  const { generation = 0, uid } = current.metadata;
  const last = policyDeclaration(record);
  const declaration = last && !last.withdrawn && last.uid === uid ? last : undefined;
  const problem = isPolicyJudged(record, current) ? declaration?.problem : undefined;
  const rules = declaration?.rules.length ?? 0;
  const stays =
    rules === 0 ? 'no rule is in force' : `the rules of generation ${declaration?.generation} stay in force`;
  const type = 'Ready';
  const atMs = record.newest?.timeMs ?? nowMs;
  let judged: Judged;
  if (problem) {
    const where = `rule "${problem.rule}", line ${problem.line}, column ${problem.column}`;
    judged = {
      type,
      status: 'False',
      reason: 'CompileFailed',
      message: `${where}: ${problem.message}; ${stays}`,
      atMs,
    };
  } else if (isPolicyJudged(record, current)) {
    judged = { type, status: 'True', reason: 'InForce', message: '', atMs };
  } else if (unknown) {
    const { reason, message } = unknown;
    judged = { type, status: 'False', reason, message: `${message}; ${stays}`, atMs: nowMs };
  } else {
    judged = {
      type,
      status: 'Unknown',
      reason: 'NotJudged',
      message: `the approver has not read it yet; ${stays}`,
      atMs: nowMs,
    };
  }
  const { head } = record;
  const warning = warningOf(declaration?.warnings ?? [], atMs);
  return {
    conditions: conditionList([judged, warning], current.status?.conditions ?? [], generation),
    observedGeneration: generation,
    rules,
    ...(judged.status === 'True' ? {} : { message: cutText(judged.message, longestMessage) }),
    ...(head ? { observed: { epoch: head.epoch, sequence: head.sequence, digest: head.digest } } : {}),
  };
}
