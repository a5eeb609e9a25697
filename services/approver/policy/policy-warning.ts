import { createPolicyEnvironment } from './policy-environment.ts';
import { readExpression } from './read-expression.ts';
import type { PolicyRule } from './policy-problem.ts';

const environment = createPolicyEnvironment();

/** Something that compiles and most likely is not what its author wants. */
export interface PolicyWarning {
  readonly rule: string;
  /** CamelCase. */
  readonly reason: 'ApprovesOnClaims' | 'InvalidSet';
  readonly message: string;
}

const isOnClaims = (reads: ReadonlySet<string>): boolean =>
  reads.has('claimed') && !reads.has('token') && !reads.has('verified');

/** Warnings of a policy whose rules compile. */
export function policyWarnings(rules: readonly PolicyRule[]): PolicyWarning[] {
  return rules.flatMap(({ name, when, effect }) => {
    const warnings: PolicyWarning[] = [];
    const { ways } = readExpression(environment, when);
    if (effect === 'Approve' && ways().some(isOnClaims))
      warnings.push({
        rule: name,
        reason: 'ApprovesOnClaims',
        message: `rule "${name}" approves on what the agent says of itself; ask for token.* or verified.* too`,
      });
    return warnings;
  });
}

/**
 * Warnings of rules that give a set which nobody can be put into; whom they let in is put into it all the same, because it may come later.
 * @param problemOf - why nobody can be put into the set of that name (`setProblem`)
 */
export function setWarnings(
  rules: readonly PolicyRule[],
  problemOf: (name: string) => string | undefined,
): PolicyWarning[] {
  return rules.flatMap(({ name, clusterSet }) => {
    const message = clusterSet === undefined ? undefined : problemOf(clusterSet);
    return message === undefined ? [] : [{ rule: name, reason: 'InvalidSet', message }];
  });
}
