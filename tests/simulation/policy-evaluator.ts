import type { ParseResult } from '@marcbachmann/cel-js';
import { createPolicyEnvironment, toCelValues } from '../../services/approver/policy/policy-environment.ts';
import type { Evaluation, PolicyEvaluator } from '../../services/approver/policy/policy-thread.ts';
import type { WorkerQuestion } from '../../services/approver/policy/evaluate-policies.ts';
import type { Replica } from './replica.ts';
import type { World } from './world.ts';

const environment = createPolicyEnvironment();
const compiled = new Map<string, ParseResult>();

/** What the policies in force say, at once. */
export function evaluateNow({ policies, input }: WorkerQuestion): Evaluation {
  const values = toCelValues(input);
  const matches: { policy: string; rule: string }[] = [];
  const failures: { policy: string; rule: string; message: string }[] = [];
  for (const { name: policy, rules } of policies) {
    for (const { name: rule, when } of rules) {
      const run = compiled.get(when) ?? environment.parse(when);
      compiled.set(when, run);
      try {
        const result: unknown = run(values);
        if (result === true) matches.push({ policy, rule });
        else if (result !== false) failures.push({ policy, rule, message: 'no bool' });
      } catch (thrown) {
        failures.push({ policy, rule, message: String(thrown).split('\n')[0] ?? '' });
      }
    }
  }
  return { kind: 'evaluated', answer: { matches, failures } };
}

/** The real language of policies without the thread around it: an endless expression is a fault here. */
export function createPolicyEvaluator(world: World, replica: Replica): PolicyEvaluator {
  return {
    async evaluate(question) {
      await world.scheduler.wait(world.random.next() * 2, replica.life);
      await replica.step();
      return world.faults.strikes('policy.timeout') ? { kind: 'timeout' } : evaluateNow(question);
    },
    close: () => Promise.resolve(),
  };
}
