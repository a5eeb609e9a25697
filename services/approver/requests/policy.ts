/** What policies mean, for whoever judges by them without deciding: the CLI. The very code of the approver. */
export { type FleetCounts, FleetTally } from '../fleet/fleet-tally.ts';
export { decidingFilters, mergedScan } from '../fleet/scan-deciding-events.ts';
export { areCountsAlike, type CountComparison } from '../policy/fleet-count-comparisons.ts';
export { createPolicyEnvironment, type PolicyInput, policyRoots } from '../policy/policy-environment.ts';
export {
  type BulkPolicyEvaluator,
  createPolicyEvaluator,
  type Evaluation,
  type PolicyEvaluator,
} from '../policy/policy-thread.ts';
export { readExpression } from '../policy/read-expression.ts';
export { policyInput } from '../policy/policy-input.ts';
export { type PolicyProblem, policyProblems, type PolicyRule } from '../policy/policy-problem.ts';
export {
  byName,
  comparedCounts,
  evaluatePolicies,
  evaluateTogether,
  policiesRead,
  type PolicyInForce,
  readPolicies,
} from './gather-judgement.ts';
export { decisionOf } from './decide-request.ts';
export { judge, type Judgement, knownOtherKey, type PolicyOutcome } from './judgement.ts';
export { type PolicyWarning, policyWarnings, setWarnings } from '../policy/policy-warning.ts';
