/** What policies mean, for whoever judges by them without deciding: the CLI. The very code of the approver. */
export { type FleetCounts, FleetTally } from './fleet-tally.ts';
export { decidingFilters, mergedScan } from './merged-scan.ts';
export { createPolicyEnvironment, type PolicyInput, policyRoots } from './policy-environment.ts';
export {
  type BulkPolicyEvaluator,
  createPolicyEvaluator,
  type Evaluation,
  type PolicyEvaluator,
} from './policy-evaluator.ts';
export { readExpression } from './policy-expression.ts';
export { policyInput } from './policy-input.ts';
export { type PolicyProblem, policyProblems, type PolicyRule } from './policy-problem.ts';
export {
  byName,
  evaluatePolicies,
  evaluateTogether,
  policiesRead,
  type PolicyInForce,
  readPolicies,
} from './policy-verdict.gather.ts';
export { decisionOf, judge, type Judgement, knownOtherKey, type PolicyOutcome } from './policy-verdict.ts';
export { type PolicyWarning, policyWarnings, setWarnings } from './policy-warning.ts';
export { setProblem } from './set-problem.ts';
