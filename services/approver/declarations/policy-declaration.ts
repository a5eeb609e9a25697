import { isDeepStrictEqual } from 'node:util';
import {
  type AggregateRecord,
  type Cause,
  draft,
  type EventDraft,
  type PolicyDeclaration,
  policyDeclaration,
  policyDeclared,
  policyWithdrawn,
} from '@rollcall/shared/events';
import type { StoredObject } from '@rollcall/shared/kubernetes';
import type { ApprovalPolicy } from '@rollcall/shared/resources';
import { unknownPerson } from './author-of-object.ts';
import type { PolicyProblem } from '../policy/policy-problem.ts';
import type { PolicyWarning } from '../policy/policy-warning.ts';

export type PolicyObject = StoredObject<ApprovalPolicy>;

type Warnings = readonly (PolicyWarning | NonNullable<PolicyDeclaration['warnings']>[number])[];

/** What a person wrote, and its first mistake if there is one. */
export interface WantedPolicy {
  readonly name: string;
  readonly uid: string;
  readonly generation: number;
  readonly rules: PolicyDeclaration['rules'];
  readonly problem: PolicyProblem | undefined;
  /** None where there is a problem. */
  readonly warnings: Warnings;
}

/** The rules of an ApprovalPolicy as the event carries them. */
export function rulesOf(object: PolicyObject): PolicyDeclaration['rules'] {
  return object.spec.rules.map((rule) =>
    Object.fromEntries(Object.entries(rule).filter(([, value]) => value !== undefined)),
  ) as PolicyDeclaration['rules'];
}

function warned(warnings: Warnings | undefined) {
  return warnings && warnings.length > 0 ? { warnings: warnings.map((warning) => ({ ...warning })) } : {};
}

function nextDeclaration(wanted: WantedPolicy, before: PolicyDeclaration | undefined): PolicyDeclaration {
  const { name, uid, generation, rules, problem } = wanted;
  if (!problem) return { name, uid, generation, rules, ...warned(wanted.warnings), withdrawn: false };
  // The last good version of this very object: a deleted policy does not come back through a broken one of the same name.
  const good = before && !before.withdrawn && before.uid === uid ? before : undefined;
  return {
    name,
    uid,
    generation: good?.generation ?? generation,
    rules: good?.rules ?? [],
    problem: { generation, ...problem },
    ...warned(good?.warnings),
    withdrawn: false,
  };
}

/** Something stands there that this version cannot read: it holds every request until it is withdrawn. */
function unreadDeclaration({ aggregate, head }: AggregateRecord): PolicyDeclaration | undefined {
  return head && { name: aggregate.id, uid: '', generation: 0, rules: [], withdrawn: false };
}

/** Declares a policy that is new or different; while it does not compile, its last good version stays in force. */
export function decidePolicy(context: {
  record: AggregateRecord;
  wanted: WantedPolicy | undefined;
  /** Who wrote it. */
  by?: Cause;
}): EventDraft[] {
  const { record, wanted, by = unknownPerson } = context;
  const before = policyDeclaration(record);
  if (wanted) {
    const section = nextDeclaration(wanted, before);
    if (isDeepStrictEqual(section, before)) return [];
    const { problem } = section;
    const what = problem
      ? {
          reason: 'PolicyInvalid',
          message: `rule "${problem.rule}", line ${problem.line}, column ${problem.column}: ${problem.message}`,
        }
      : {
          reason: 'PolicyDeclared',
          message: [
            `policy "${wanted.name}" has ${section.rules.length} ${section.rules.length === 1 ? 'rule' : 'rules'} in force`,
            ...wanted.warnings.map(({ message }) => message),
          ].join('; '),
        };
    return [draft(policyDeclared, record, { by, ...what, section })];
  }
  const last = before ?? unreadDeclaration(record);
  if (!last || last.withdrawn) return [];
  const message = `policy "${last.name}" was deleted`;
  return [
    draft(policyWithdrawn, record, {
      by: unknownPerson,
      reason: 'PolicyDeleted',
      message,
      section: { ...last, withdrawn: true },
    }),
  ];
}
