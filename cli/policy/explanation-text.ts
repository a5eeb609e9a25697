import { printable } from '../terminal/printable.ts';
import type { Explained, Explanation, RuleResult } from './explanation.ts';
import { textTable } from './text-table.ts';

const longestInput = 60;

function inputText(name: string, value: unknown): string {
  const text = value === null ? '(not there)' : JSON.stringify(value);
  return `${name}=${text.length > longestInput ? `${text.slice(0, longestInput)}…` : text}`;
}

function row({ policy, rule, effect, answer, error, inputs, decides }: RuleResult): string[] {
  return [
    decides ? '→' : '',
    policy,
    rule,
    effect,
    error === undefined ? answer : `error: ${error}`,
    Object.entries(inputs)
      .map(([name, value]) => inputText(name, value))
      .join(' '),
  ];
}

/** @param told - what was said above already */
function part(title: string, { at, rules, verdict, reason, message }: Explained, told = ''): string[] {
  const table =
    rules.length === 0
      ? 'no policy was in force'
      : textTable(['', 'POLICY', 'RULE', 'EFFECT', 'ANSWER', 'INPUTS'], rules.map(row));
  return [
    '',
    printable(`${title} (${at}): ${verdict}, ${reason}`),
    table,
    ...(message === told ? [] : [printable(message)]),
  ];
}

/** For people: what was decided, then each rule as it was, then as it is now. The arrow marks the rule that decides. */
export function explanationText({ decision, refusal, atDecision, now, ...request }: Explanation): string {
  const who = `request ${request.requestId} of cluster ${request.clusterName} (${request.clusterId}), asked ${request.requestedAt}`;
  const by = decision?.by;
  const cause =
    by?.person ?? (by?.policy === undefined ? 'the approver itself' : `policy ${by.policy}/${by.rule ?? ''}`);
  const decided = decision
    ? `${decision.verdict} ${decision.at} by ${cause}, ${decision.reason}: ${decision.message}`
    : refusal
      ? `refused before any policy was asked, ${refusal.code}: ${refusal.message}`
      : 'not decided yet';
  return [
    printable(who),
    printable(decided),
    ...(atDecision ? part('policies then', atDecision, decision?.message) : []),
    ...part('policies now', now, (atDecision ?? decision)?.message),
  ].join('\n');
}
