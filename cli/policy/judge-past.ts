import {
  type BulkPolicyEvaluator,
  evaluatePolicies,
  evaluateTogether,
  judge,
  type Judgement,
  type PolicyEvaluator,
  type PolicyInForce,
  type PolicyOutcome,
} from '@rollcall/approver/policy';
import { deadlineMs } from './time-rules.ts';
import type { PastRequest } from './past-requests.ts';

export interface PastJudgement {
  readonly outcome: PolicyOutcome;
  /** Undefined: there was nothing for a policy to decide (the cluster was banned, for example). */
  readonly judgement: Judgement | undefined;
}

/** Judges as the approver does, by the same rules in the same worker. */
export async function judgePast(
  evaluator: PolicyEvaluator,
  policies: readonly PolicyInForce[],
  { identity, previous, input }: Pick<PastRequest, 'identity' | 'previous' | 'input'>,
): Promise<PastJudgement> {
  const outcome = await evaluatePolicies({ evaluator, deadlineMs }, policies, input);
  return { outcome, judgement: judge({ identity, previous, outcome }) };
}

/** The same of many requests, all by the counts of the fleet that each input has. */
export async function judgeManyPast(
  evaluator: BulkPolicyEvaluator,
  policies: readonly PolicyInForce[],
  all: readonly Pick<PastRequest, 'identity' | 'previous' | 'input'>[],
): Promise<PastJudgement[]> {
  const inputs = all.map(({ input }) => input);
  const outcomes = (await evaluateTogether({ evaluator, deadlineMs }, policies, inputs)).values();
  return all.flatMap(({ identity, previous }) => {
    const outcome = outcomes.next().value;
    return outcome ? [{ outcome, judgement: judge({ identity, previous, outcome }) }] : [];
  });
}
