import type { PolicyDeclaration } from '@rollcall/shared/events';
import { labelProblem } from '@rollcall/shared/resources/label-syntax';
import type { KubernetesEnvironment } from './kubernetes-library/kubernetes-environment.ts';
import { sizeOfPatterns } from './kubernetes-library/literal-problem.ts';
import { createPolicyEnvironment, policyRoots } from './policy-environment.ts';
import { policyLimits } from './policy-limits.ts';
import { type ExpressionUse, readExpression } from './read-expression.ts';
import { problemText, unknownFieldText } from './policy-problem-text.ts';

export type PolicyRule = PolicyDeclaration['rules'][number];

/** Where in which rule a policy is wrong, and what was expected; line and column count from 1, within the expression. */
export interface PolicyProblem {
  readonly rule: string;
  readonly line: number;
  readonly column: number;
  readonly message: string;
}

function placeOf(text: string, offset: number): { line: number; column: number } {
  const before = text.slice(0, offset).split('\n');
  return { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
}

type Found = { readonly offset: number; readonly message: string };

/** What the engine's type check does not say: it lets `has()` of a misspelt field pass. */
function useProblem({ reads, loopDepth }: ExpressionUse): Found | undefined {
  for (const { root, field, offset } of reads) {
    if (field !== undefined && !Object.hasOwn(policyRoots[root], field))
      return { offset, message: unknownFieldText(root, field) };
  }
  if (loopDepth > policyLimits.loopDepth)
    return {
      offset: 0,
      message: `loops stand ${loopDepth} deep within each other: expected at most ${policyLimits.loopDepth}`,
    };
  return undefined;
}

/** The fields of what does not type-check are still known where it parses. */
function useOf(environment: KubernetesEnvironment, when: string): ExpressionUse | undefined {
  try {
    return readExpression(environment, when);
  } catch {
    return undefined;
  }
}

function ruleProblem(environment: KubernetesEnvironment, rule: PolicyRule): PolicyProblem | undefined {
  const at = (offset: number, message: string) => ({
    rule: rule.name,
    ...placeOf(rule.when, offset),
    message,
  });
  if (Buffer.byteLength(rule.when) > policyLimits.expressionBytes) {
    return at(0, `the expression is longer than ${policyLimits.expressionBytes} bytes`);
  }
  const ofLabels = labelProblem(rule.labels ?? {});
  if (ofLabels !== undefined) return at(0, ofLabels);
  const checked = environment.check(rule.when);
  const use = useOf(environment, rule.when);
  if (!checked.valid) {
    const { error } = checked;
    return at(error?.range?.start ?? 0, error ? problemText(error, use) : 'the expression does not compile');
  }
  // `dyn` is what a call without a known type gives; the evaluation then refuses everything but a bool.
  if (checked.type !== 'bool' && checked.type !== 'dyn') {
    return at(0, `the expression gives ${checked.type ?? 'nothing'}: expected true or false (bool)`);
  }
  const found = use && useProblem(use);
  return found && at(found.offset, found.message);
}

const tooMany = (rule: PolicyRule): PolicyProblem => ({
  rule: rule.name,
  line: 1,
  column: 1,
  message: `a policy has at most ${policyLimits.rules} rules`,
});

const tooLarge = (rule: PolicyRule, bytes: number): PolicyProblem => ({
  rule: rule.name,
  line: 1,
  column: 1,
  message: `the rules of the policy are ${bytes} bytes together: expected at most ${policyLimits.policyBytes}`,
});

const tooCostly = (rule: PolicyRule, size: number): PolicyProblem => ({
  rule: rule.name,
  line: 1,
  column: 1,
  message: `the patterns of the policy up to this rule take ${size} places once their repeats are written out: expected at most ${policyLimits.patternPlaces}`,
});

/** Making it takes longer than checking a policy with it. */
const environment = createPolicyEnvironment();

/** What does not parse, or is too long, has none; it is refused for that. */
function sizeOfPatternsIn({ when }: PolicyRule): number {
  if (Buffer.byteLength(when) > policyLimits.expressionBytes) return 0;
  try {
    return sizeOfPatterns(environment.parse(when).ast);
  } catch {
    return 0;
  }
}

/** All mistakes of a policy, the first of each rule; none when every rule compiles. */
export function policyProblems(rules: readonly PolicyRule[]): PolicyProblem[] {
  const extra = rules[policyLimits.rules];
  if (extra) return [tooMany(extra)];
  const bytes = Buffer.byteLength(JSON.stringify(rules));
  const last = rules.at(-1);
  if (last && bytes > policyLimits.policyBytes) return [tooLarge(last, bytes)];
  let patterns = 0;
  return rules.flatMap((rule) => {
    patterns += sizeOfPatternsIn(rule);
    return (
      (patterns > policyLimits.patternPlaces ? tooCostly(rule, patterns) : ruleProblem(environment, rule)) ??
      []
    );
  });
}

/** The first mistake of a policy, or undefined when every rule compiles. */
export function policyProblem(rules: readonly PolicyRule[]): PolicyProblem | undefined {
  return policyProblems(rules)[0];
}
