import { admissionPolicyNames } from '@rollcall/shared/admission/policy-names';
import { type MetricTable, shortSeconds } from './metric-definition.ts';

/** Of the approver. */
export const approverMetrics = {
  rollcall_admission_ok: {
    type: 'gauge',
    help: '1 while the API server refuses decisions of people without the right; 0: decisions of people are held.',
    services: ['approver'],
  },
  rollcall_admission_policy_ok: {
    type: 'gauge',
    help: '1 while this admission policy and its binding are there as they were shipped; 0: missing or changed.',
    services: ['approver'],
    labels: { policy: admissionPolicyNames },
  },
  rollcall_policy_evaluations_total: {
    type: 'counter',
    help: 'Judgements by policy: `failed` had an expression that could not be evaluated, `timeout` ran out of time.',
    services: ['approver'],
    labels: { outcome: ['evaluated', 'failed', 'timeout'] },
  },
  rollcall_policy_evaluation_duration_seconds: {
    type: 'histogram',
    help: 'All policies over one request, the wait for the worker included.',
    services: ['approver'],
    buckets: [0.0005, ...shortSeconds],
  },
} as const satisfies MetricTable;
