import { type AggregateRecord, policyDeclaration } from '@rollcall/shared/events';
import type { ApprovalPolicy } from '@rollcall/shared/resources';
import { conditionList, type Judged } from './condition-list.ts';

export type PolicyStatus = NonNullable<ApprovalPolicy['status']>;

/** Whether the approver judges by exactly what the object says now. */
export function isPolicyInForce(record: AggregateRecord | undefined, current: ApprovalPolicy): boolean {
  const declaration = record && policyDeclaration(record);
  const { uid, generation } = current.metadata;
  return declaration !== undefined && !declaration.withdrawn && declaration.uid === uid && declaration.generation === generation;
}

/**
 * The status of a policy: in force once the approver has declared this generation. A generation that does not compile is never
 * declared; the rules that were declared before stay in force.
 * @param nowMs - hub time of a change that no event tells
 */
export function desiredPolicy(record: AggregateRecord | undefined, current: ApprovalPolicy, nowMs: number): PolicyStatus {
  const declaration = record && policyDeclaration(record);
  const { generation = 0 } = current.metadata;
  const old = declaration && !declaration.withdrawn && declaration.uid === current.metadata.uid ? declaration : undefined;
  const message = old
    ? `generation ${generation} is not in force; the rules of generation ${old.generation} are`
    : 'no rule of this policy is in force';
  const judged: Judged = isPolicyInForce(record, current)
    ? { type: 'Ready', status: 'True', reason: 'InForce', message: '', atMs: record?.newest?.timeMs ?? nowMs }
    : { type: 'Ready', status: 'False', reason: 'NotInForce', message: `${message}; see the approver's log`, atMs: nowMs };
  const head = record?.head;
  return {
    conditions: conditionList([judged], current.status?.conditions ?? [], generation),
    observedGeneration: generation,
    rules: old?.rules.length ?? 0,
    ...(judged.status === 'True' ? {} : { message: judged.message }),
    ...(head ? { observed: { epoch: head.epoch, sequence: head.sequence, digest: head.digest } } : {}),
  };
}
