import {
  createPolicyEvaluator,
  type PolicyEvaluator,
  policyProblems,
  policyWarnings,
} from '@rollcall/approver/policy';
import { parsePolicyFile } from '../../../cli/policy/policy-file.ts';
import { bytesOf, following, type FuzzedDecoder, must, textOf } from '../fuzzed-decoder.ts';
import { yamlWords } from './files.ts';

const expressions = [
  'token.valid',
  'token.valid && request.labels.env == "prod"',
  'has(claimed.region) && claimed.region.startsWith("eu-") || fleet.clusters < 100',
  'claimed.labels.all(key, key.matches("^[a-z]+$")) && time.hour >= 8',
  'request.clusterName in ["a", "b"] ? verified.sameMember : false',
];
/** By blanks between them. */
const celSigns = '&& || ! == != < + - * / % ? : ( ) [ ] { } . 1u 1e400 b"\\xff" r\' """ \\u{110000} //';
const celNames =
  'in has( .all(x, .map(x, .exists(x, .matches("(a+)+$") size( int( string( true null __proto__ constructor process ' +
  'globalThis token request claimed verified fleet time valid labels .all(k,v, .transformMap(k,v, .sortBy(x, .optMap(x, ' +
  'quantity( ip( cidr( semver( url( sets.contains( lists.range( .format([ .findAll( .replace( .split( duration( timestamp(';
const celWords = [...celSigns.split(' '), ...celNames.split(' ')];

const policy: FuzzedDecoder = {
  name: 'policy',
  form: 'text',
  words: celWords,
  // The API server cuts off what is longer.
  maxBytes: 4096,
  samples: expressions.map(bytesOf),
  decode(input) {
    const rules = [{ name: 'r', when: textOf(input), effect: 'Approve' as const }];
    const [problem] = policyProblems(rules);
    if (problem) {
      must(problem.line >= 1 && problem.column >= 1, 'a mistake has a place');
      return 'refused';
    }
    following('warnings of a policy that compiles', () => policyWarnings(rules));
    return 'taken';
  },
};

const file = `apiVersion: rollcall.dev/v1alpha1
kind: ApprovalPolicy
metadata:
  name: one
spec:
  rules:
  - name: valid
    when: token.valid
    effect: Approve
    labels: {env: prod}
  - name: others
    when: |
      claimed.region == "eu"
        && token.valid
    effect: Hold
    reason: look at it
`;
const policyFile: FuzzedDecoder = {
  name: 'policy-file',
  form: 'text',
  words: [...yamlWords, 'when', 'rules', 'effect', 'Deny', 'kind: ApprovalPolicy'],
  samples: [bytesOf(file), bytesOf(`${file}---\nkind: Other\n`)],
  decode(input) {
    const { policies, problems } = parsePolicyFile(textOf(input));
    for (const { rules, placeOf } of policies)
      for (const { name } of rules)
        following('a place within a rule', () => placeOf(name, { line: 1, column: 1 }));
    return policies.length > 0 && problems.length === 0 ? 'taken' : 'refused';
  },
};

const input = JSON.stringify({
  request: { clusterId: 'id-1', clusterName: 'one', labels: { env: 'prod' } },
  token: { valid: true, uses: 1, unlimited: false, labels: {} },
  claimed: { region: 'eu-1', labels: JSON.parse('{"__proto__":"p","constructor":"c"}') as object },
  verified: { keyChanged: false, sameMember: false },
  fleet: { clusters: 1, pending: 0, approvedToday: 0, bySet: {}, byPolicyToday: {} },
  time: { nowMs: 1, hour: 9, minute: 0, weekday: 1, date: '2026-01-01' },
});
let evaluator: PolicyEvaluator | undefined;
let version = 0;
/** Compiled and run where it is really run: in the worker, which a bomb ends. */
const policyWorker: FuzzedDecoder = {
  ...policy,
  name: 'policy-worker',
  async decode(given) {
    evaluator ??= createPolicyEvaluator({ deadlineMs: 50 });
    version = (version + 1) % Number.MAX_SAFE_INTEGER;
    const rules = [{ name: 'r', when: textOf(given) }];
    const result = await evaluator.evaluate({
      policies: [{ name: 'p', version: String(version), rules }],
      input,
    });
    if (result.kind === 'timeout') return 'refused';
    const { matches, failures } = result.answer;
    must(matches.length + failures.length <= 1, 'one rule has one answer');
    return failures.length === 0 ? 'taken' : 'refused';
  },
  async close() {
    await evaluator?.close();
    evaluator = undefined;
  },
};

/** What people write about who may join. */
export const policyDecoders: readonly FuzzedDecoder[] = [policy, policyFile, policyWorker];
