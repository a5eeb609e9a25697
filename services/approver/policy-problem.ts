import type { Environment } from '@marcbachmann/cel-js';
import type { PolicyDeclaration } from '@rollcall/shared/events';
import { reservedPrefixes } from '@rollcall/shared/resources';
import { createPolicyEnvironment } from './policy-environment.ts';

export type PolicyRule = PolicyDeclaration['rules'][number];

/** Where in which rule a policy is wrong; line and column count from 1, within the expression. */
export interface PolicyProblem {
  readonly rule: string;
  readonly line: number;
  readonly column: number;
  readonly message: string;
}

const maxRules = 100;
const maxExpressionBytes = 4096;

function placeOf(text: string, offset: number): { line: number; column: number } {
  const before = text.slice(0, offset).split('\n');
  return { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
}

/** `rollcall.dev/x` and `a.rollcall.dev/x`, but not `notrollcall.dev/x`. */
export function isReservedLabel(key: string): boolean {
  return reservedPrefixes.some((prefix) => key.startsWith(prefix) || key.includes(`.${prefix}`));
}

function ruleProblem(environment: Environment, rule: PolicyRule): PolicyProblem | undefined {
  const at = (offset: number, message: string) => ({
    rule: rule.name,
    ...placeOf(rule.when, offset),
    message,
  });
  if (Buffer.byteLength(rule.when) > maxExpressionBytes) {
    return at(0, `the expression is longer than ${maxExpressionBytes} bytes`);
  }
  const reserved = Object.keys(rule.labels ?? {}).find(isReservedLabel);
  if (reserved !== undefined) return at(0, `the label "${reserved}" is reserved`);
  const checked = environment.check(rule.when);
  if (!checked.valid) {
    const { error } = checked;
    return at(error?.range?.start ?? 0, error?.summary ?? 'the expression does not compile');
  }
  // `dyn` is what a call without a known type gives; the evaluation then refuses everything but a bool.
  if (checked.type !== 'bool' && checked.type !== 'dyn') {
    return at(0, `the expression gives ${checked.type ?? 'nothing'}, but a rule needs a bool`);
  }
  return undefined;
}

/** The first mistake of a policy, or undefined when every rule compiles. */
export function policyProblem(rules: readonly PolicyRule[]): PolicyProblem | undefined {
  const last = rules[maxRules];
  if (last) return { rule: last.name, line: 1, column: 1, message: `a policy has at most ${maxRules} rules` };
  const environment = createPolicyEnvironment();
  for (const rule of rules) {
    const problem = ruleProblem(environment, rule);
    if (problem) return problem;
  }
  return undefined;
}
