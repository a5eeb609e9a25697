import {
  createPolicyEvaluator,
  type PolicyEvaluator,
  policyRoots,
  type PolicyRule,
} from '@rollcall/approver/policy';

/** What the approver gives all policies of one request, by default. */
export const deadlineMs = 100;

/** As long as a name may be. */
const longName = 'a'.repeat(63);
const manyLabels = 64;

const labels = Object.fromEntries(
  Array.from({ length: manyLabels }, (_, index) => [`label-${index}`, 'a'.repeat(63)]),
);

function longest(type: string): unknown {
  if (type === 'string') return longName;
  if (type === 'int') return 1;
  if (type === 'bool') return true;
  return type === 'map<string, int>' ? { a: 1 } : labels;
}

/** A request that has every field, each as long as it may be. */
function sample(): string {
  const roots = Object.entries(policyRoots).map(([root, fields]) => [
    root,
    Object.fromEntries(Object.entries(fields).map(([field, type]) => [field, longest(type)])),
  ]);
  return JSON.stringify(Object.fromEntries(roots));
}

/** Runs rules on a request that is as large as it may be. */
export interface Trial extends AsyncDisposable {
  /** @returns by rule, what is wrong: it would hold every such request */
  tryOut(rules: readonly PolicyRule[]): Promise<Map<string, string>>;
}

/** One thread for all policies of a file, and none where nothing compiles. */
export function createTrial(): Trial {
  let evaluator: PolicyEvaluator | undefined;
  return {
    async tryOut(rules) {
      evaluator ??= createPolicyEvaluator({ deadlineMs });
      const found = new Map<string, string>();
      for (const { name, when } of rules) {
        const policies = [{ name: 'trial', version: when, rules: [{ name, when }] }];
        const { kind } = await evaluator.evaluate({ policies, input: sample() });
        if (kind !== 'timeout') continue;
        const what = `the expression takes too long: more than ${deadlineMs} ms, so the request would be held`;
        found.set(name, what);
      }
      return found;
    },
    [Symbol.asyncDispose]: () => evaluator?.close() ?? Promise.resolve(),
  };
}
