import type { Metrics } from '@rollcall/shared/service';
import type { Evaluation, PolicyEvaluator } from './policy-thread.ts';

function outcomeOf(evaluation: Evaluation): 'evaluated' | 'failed' | 'timeout' {
  if (evaluation.kind === 'timeout') return 'timeout';
  return evaluation.answer.failures.length > 0 ? 'failed' : 'evaluated';
}

/** The same evaluator, with how its judgements ended and how long they took. */
export function countEvaluations(evaluator: PolicyEvaluator, metrics: Metrics): PolicyEvaluator {
  return {
    async evaluate(question) {
      const startedMs = performance.now();
      const evaluation = await evaluator.evaluate(question);
      metrics.count('rollcall_policy_evaluations_total', { outcome: outcomeOf(evaluation) });
      metrics.observe('rollcall_policy_evaluation_duration_seconds', (performance.now() - startedMs) / 1000);
      return evaluation;
    },
    close: () => evaluator.close(),
  };
}
