import { afterAll, expect, test } from 'vitest';
import { createPolicyEvaluator } from './policy-evaluator.ts';
import { policyInput } from './policy-input.ts';
import { policyProblem } from './policy-problem.ts';
import { anIdentity, aRequest, nowMs } from './tests/builders.ts';

const evaluator = createPolicyEvaluator({ deadlineMs: 100 });
afterAll(() => evaluator.close());

const labels = JSON.parse('{"__proto__":"p","constructor":"c","env":"prod"}') as Record<string, string>;
const token = {
  publicKey: 'U',
  namespace: 'rollcall-join',
  name: 't1',
  uid: 'u',
  declaredAtMs: 0,
  expiresAtMs: nowMs + 1,
  uses: 'unlimited',
  labels: {},
  allowLabels: [],
  withdrawn: false,
} as const;
const input = (more: { clusterName?: string; token?: object } = {}) =>
  JSON.stringify(
    policyInput(
      anIdentity({
        clusterName: more.clusterName ?? 'alpha',
        request: aRequest({ claimed: { labels, nodesTotal: 3 } }),
      }),
      {
        token: { ...token, allowLabels: [], ...more.token },
        keyChanged: false,
        nowMs,
      },
    ),
  );
let version = 0;
const policies = (when: string) => [{ name: 'p', version: String(version++), rules: [{ name: 'r', when }] }];

async function evaluate(when: string, more = {}) {
  const result = await evaluator.evaluate({ policies: policies(when), input: input(more) });
  if (result.kind === 'timeout') return 'timeout';
  return result.answer.failures[0]?.message ?? result.answer.matches.length > 0;
}

test.each([
  { when: 'token.valid', want: true },
  { when: 'token.valid', more: { token: { expiresAtMs: nowMs } }, want: false },
  { when: 'token.valid', more: { token: { withdrawn: true } }, want: false },
  { when: 'token.unlimited && token.uses > 1000000', want: true },
  { when: 'request.labels.env == "test" && claimed.labels.env == "prod"', want: true },
  { when: 'claimed.nodes >= 3 && time.hour == 12 && time.weekday == 6', want: true },
  { when: 'claimed.labels["__proto__"] == "p" && claimed.labels.constructor == "c"', want: true },
  { when: 'has(claimed.labels.toString)', want: false },
  { when: 'claimed.region == "eu"', want: 'No such key: region' },
  { when: 'has(claimed.region) && claimed.region == "eu"', want: false },
  { when: 'claimed.?region.orValue("eu") == "eu"', want: true },
])('$when → $want', async ({ when, more, want }) => {
  expect(policyProblem([{ name: 'r', when, effect: 'Approve' }])).toBeUndefined();
  expect(await evaluate(when, more)).toBe(want);
});

const tenTimes = (inner: string, name: string) => `[0,1,2,3,4,5,6,7,8,9].all(${name}, ${inner})`;
const bomb = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i'].reduce(tenTimes, 'true');

test.each([
  { name: 'a catastrophic pattern', when: 'request.clusterName.matches("^(a+)+$")' },
  { name: 'nested loops', when: bomb },
])('$name is ended, and the next request is judged normally', async ({ when }) => {
  expect(policyProblem([{ name: 'r', when, effect: 'Deny' }])).toBeUndefined();
  const [bad, good] = await Promise.all([
    evaluate(when, { clusterName: `${'a'.repeat(40)}1` }),
    evaluate('token.valid'),
  ]);
  expect({ bad, good }).toEqual({ bad: 'timeout', good: true });
});

test.each([
  {
    name: 'a root that does not exist',
    when: 'facts.x == 1',
    want: { line: 1, column: 1, message: 'Unknown variable: facts' },
  },
  {
    name: 'a field that does not exist',
    when: 'token.valid &&\n token.color == "red"',
    want: { line: 2, column: 8, message: 'No such key: color' },
  },
  {
    name: 'an object of the host',
    when: 'claimed.constructor == 1',
    want: { line: 1, column: 9, message: 'No such key: constructor' },
  },
  {
    name: 'half an expression',
    when: 'token.valid &&',
    want: { line: 1, column: 15, message: 'Unexpected token: EOF' },
  },
  {
    name: 'a number',
    when: 'token.uses',
    want: { line: 1, column: 1, message: 'the expression gives int, but a rule needs a bool' },
  },
  {
    name: 'a text that is too long',
    when: `true || ${'true || '.repeat(600)} true`,
    want: { line: 1, column: 1, message: 'the expression is longer than 4096 bytes' },
  },
])('policyProblem: $name does not compile', ({ when, want }) => {
  expect(policyProblem([{ name: 'r', when, effect: 'Approve' }])).toEqual({ rule: 'r', ...want });
});

test('policyProblem refuses reserved labels, by subdomain too, and too many rules', () => {
  const rule = { name: 'r', when: 'true', effect: 'Approve' } as const;
  expect(policyProblem([{ ...rule, labels: { 'x.k8s.io/a': 'b' } }])?.message).toBe(
    'the label "x.k8s.io/a" is reserved',
  );
  expect(policyProblem([{ ...rule, labels: { 'notk8s.io/a': 'b' } }])).toBeUndefined();
  expect(policyProblem(Array.from({ length: 101 }, () => rule))?.message).toBe(
    'a policy has at most 100 rules',
  );
});
