import {
  createPolicyEnvironment,
  createPolicyEvaluator,
  type PolicyEvaluator,
  policyRoots,
  type PolicyRule,
  readExpression,
} from '@rollcall/approver/policy';

/** What the approver gives all policies of one request, by default. */
export const deadlineMs = 100;

/** As long as a name may be. */
const longNameLength = 62;
const manyLabels = 64;

const labels = Object.fromEntries(
  Array.from({ length: manyLabels }, (_, index) => [`label-${index}`, 'a'.repeat(63)]),
);

/** A request that has every field, each as long as it may be. */
function sample(clusterName: string): string {
  const valueOf = (type: string) => {
    if (type === 'string') return clusterName;
    if (type === 'int') return 1;
    if (type === 'bool') return true;
    return type === 'map<string, int>' ? { a: 1 } : labels;
  };
  const roots = Object.entries(policyRoots).map(([root, fields]) => [
    root,
    Object.fromEntries(Object.entries(fields).map(([field, type]) => [field, valueOf(type)])),
  ]);
  return JSON.stringify(Object.fromEntries(roots));
}

/** Texts that nearly match: of each letter in the pattern, as long as a name may be, and an end that no pattern takes. */
function nearMatches(patterns: readonly { pattern: string }[]): string[] {
  const letters = new Set([
    'a',
    '0',
    '-',
    ...patterns.flatMap(({ pattern }) => pattern.match(/[a-z0-9]/g) ?? []),
  ]);
  return [...letters].map((letter) => `${letter.repeat(longNameLength)}!`);
}

/**
 * Runs rules on requests that are as bad as they may be.
 * @returns by rule, what is wrong: it would hold every such request
 */
export async function tryOut(rules: readonly PolicyRule[]): Promise<Map<string, string>> {
  const evaluator: PolicyEvaluator = createPolicyEvaluator({ deadlineMs });
  const environment = createPolicyEnvironment();
  const found = new Map<string, string>();
  try {
    for (const { name, when } of rules) {
      const { patterns } = readExpression(environment, when);
      const policies = [{ name: 'trial', version: name, rules: [{ name, when }] }];
      for (const clusterName of nearMatches(patterns)) {
        const { kind } = await evaluator.evaluate({ policies, input: sample(clusterName) });
        if (kind !== 'timeout') continue;
        const what =
          patterns.length > 0
            ? `a pattern takes too long on a text such as "${clusterName.slice(0, 8)}…!"`
            : 'the expression takes too long';
        found.set(name, `${what}: more than ${deadlineMs} ms, so the request would be held`);
        break;
      }
    }
  } finally {
    await evaluator.close();
  }
  return found;
}
