import type { Worker } from 'node:worker_threads';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { createPolicyEvaluator } from './policy-thread.ts';
import { policyInput } from './policy-input.ts';
import { policyProblem } from './policy-problem.ts';
import { anIdentity, aRequest, nowMs, slowForLongNames } from '../tests/builders.ts';

const evaluator = createPolicyEvaluator({ deadlineMs: 100 });
afterAll(() => evaluator.close());

const labels = JSON.parse(
  '{"__proto__":"p","constructor":"c","env":"prod","address":"10.1.2.3","memory":"16Gi","pattern":"("}',
) as Record<string, string>;
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
        request: aRequest({
          claimed: {
            labels,
            nodesTotal: 3,
            kubernetesVersion: 'v1.27.9',
            apiServerURL: 'https://10.0.0.1:6443',
          },
        }),
      }),
      {
        token: { ...token, allowLabels: [], ...more.token },
        keyChanged: false,
        fleet: {
          clusters: 7,
          pending: 1,
          approvedToday: 2,
          bySet: { edge: 3 },
          byPolicyToday: { p: 0 },
        },
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
  { when: 'claimed.nodes >= 3 && time.hour == 12 && time.minute == 0 && time.weekday == 6', want: true },
  { when: 'time.date == "2026-11-21" && time.date >= "2026-11-01"', want: true },
  { when: 'fleet.clusters < 8 && fleet.bySet["edge"] == 3 && fleet.byPolicyToday["p"] == 0', want: true },
  { when: 'fleet.bySet["egde"] < 4', want: 'No such key: egde' },
  { when: 'fleet.bySet[?"egde"].orValue(0) < 4', want: true },
  { when: 'claimed.labels["__proto__"] == "p" && claimed.labels.constructor == "c"', want: true },
  { when: 'has(claimed.labels.toString)', want: false },
  { when: 'claimed.region == "eu"', want: 'No such key: region' },
  { when: 'has(claimed.region) && claimed.region == "eu"', want: false },
  { when: 'claimed.?region.orValue("eu") == "eu"', want: true },
])('$when → $want', async ({ when, more, want }) => {
  expect(policyProblem([{ name: 'r', when, effect: 'Approve' }])).toBeUndefined();
  expect(await evaluate(when, more)).toBe(want);
});

test('an exploding text is ended, and the next request is judged normally', async () => {
  expect(policyProblem([{ name: 'r', when: slowForLongNames, effect: 'Deny' }])).toBeUndefined();
  const [bad, good] = await Promise.all([
    evaluate(slowForLongNames, { clusterName: `${'a'.repeat(1000)}1` }),
    evaluate('token.valid'),
  ]);
  expect({ bad, good }).toEqual({ bad: 'timeout', good: true });
});

test('no pattern takes long, whatever it is and where it comes from', async () => {
  const clusterName = `${'a'.repeat(1000)}1`;
  expect(await evaluate('request.clusterName.matches("^(a+)+$")', { clusterName })).toBe(false);
  expect(await evaluate('request.clusterName.matches("^(a+)" + "+$")', { clusterName })).toBe(false);
});

test.each([
  { when: 'semver(claimed.kubernetesVersion, true).isLessThan(semver("1.28.0"))', want: true },
  { when: 'cidr("10.0.0.0/8").containsIP(claimed.labels.address)', want: true },
  { when: 'url(claimed.apiServerURL).getHostname() == "10.0.0.1"', want: true },
  { when: 'quantity(claimed.labels.memory).isGreaterThan(quantity("8Gi"))', want: true },
  { when: 'sets.contains(["prod", "test"], [claimed.labels.env])', want: true },
  { when: 'claimed.labels.all(key, value, key.size() < 64 && value.size() < 64)', want: true },
  { when: 'fleet.bySet.transformList(name, count, count).sum() < 100', want: true },
  { when: '"%s-%d".format([claimed.labels.env, claimed.nodes]) == "prod-3"', want: true },
  { when: '!format.dns1123Label().validate(request.clusterName).hasValue()', want: true },
  { when: 'quantity(claimed.labels.env) == quantity("1")', want: '"prod" is no quantity' },
  {
    when: 'request.clusterName.matches(claimed.labels.pattern)',
    want: '"(" is no pattern: missing closing ): `(`',
  },
])('libraries of Kubernetes: $when → $want', async ({ when, want }) => {
  expect(policyProblem([{ name: 'r', when, effect: 'Approve' }])).toBeUndefined();
  expect(await evaluate(when)).toEqual(want);
});

test.each([
  {
    name: 'a root that does not exist',
    when: 'facts.x == 1',
    want: {
      line: 1,
      column: 1,
      message: 'there is no "facts": expected one of request, token, claimed, verified, fleet, time',
    },
  },
  {
    name: 'a field that does not exist',
    when: 'token.valid &&\n token.color == "red"',
    want: {
      line: 2,
      column: 8,
      message:
        'token has no field "color": expected one of valid, name, namespace, uses, unlimited, clusterName, clientId, clusterSet, labels',
    },
  },
  {
    name: 'an object of the host',
    when: 'claimed.constructor == 1',
    want: {
      line: 1,
      column: 9,
      message:
        'claimed has no field "constructor": expected one of kubernetesVersion, platform, provider, region, apiServerURL, nodes, agentVersion, labels',
    },
  },
  {
    name: 'half an expression',
    when: 'token.valid &&',
    want: { line: 1, column: 15, message: 'the expression ends too early: expected a value' },
  },
  {
    name: 'a number',
    when: 'token.uses',
    want: { line: 1, column: 1, message: 'the expression gives int: expected true or false (bool)' },
  },
  {
    name: 'a misspelt root',
    when: 'toke.valid',
    want: {
      line: 1,
      column: 1,
      message:
        'there is no "toke": did you mean "token"? expected one of request, token, claimed, verified, fleet, time',
    },
  },
  {
    name: 'has() of a field that does not exist',
    when: 'has(claimed.regoin)',
    want: {
      line: 1,
      column: 13,
      message:
        'claimed has no field "regoin": did you mean "region"? expected one of kubernetesVersion, platform, provider, region, apiServerURL, nodes, agentVersion, labels',
    },
  },
  {
    name: 'two types',
    when: 'token.uses == "many"',
    want: {
      line: 1,
      column: 1,
      message: 'no such overload: int == string: expected two values of one type that it works on',
    },
  },
  {
    name: 'a function that does not exist',
    when: 'request.clusterName.startWith("eu")',
    want: {
      line: 1,
      column: 1,
      message:
        'there is no function string.startWith(string): expected another name, or arguments of other types',
    },
  },
  {
    name: 'a number beside &&',
    when: 'token.valid && token.uses',
    want: { line: 1, column: 1, message: '&& and || need true or false (bool) on both sides, got int' },
  },
  {
    name: 'a bracket that is open',
    when: '(token.valid',
    want: { line: 1, column: 13, message: 'expected ")", got the end of the expression' },
  },
  {
    name: 'no pattern',
    when: 'request.clusterName.matches("(a")',
    want: {
      line: 1,
      column: 29,
      message: '"(a" is no pattern: missing closing ): `(a`',
    },
  },
  {
    name: 'a pattern that only JavaScript has',
    when: 'request.clusterName.find("(?=a)") == ""',
    want: {
      line: 1,
      column: 26,
      message: '"(?=a)" is no pattern: invalid or unsupported Perl syntax: `(?=`',
    },
  },
  {
    name: 'a function of another type',
    when: 'ip(request.clusterName).isGreaterThan(ip("::1"))',
    want: {
      line: 1,
      column: 1,
      message:
        'there is no function net.IP.isGreaterThan(net.IP): expected another name, or arguments of other types',
    },
  },
  {
    name: 'wrong arguments for a function that the engine has too',
    when: 'request.clusterName.indexOf(1) == 0',
    want: {
      line: 1,
      column: 1,
      message: 'there is no function string.indexOf(int): expected another name, or arguments of other types',
    },
  },
  {
    name: 'a format with too few values',
    when: '"%s-%s".format([request.clusterName]) == "a"',
    want: { line: 1, column: 1, message: 'the format takes 2 values, and 1 are given' },
  },
  {
    name: 'a duration that is none',
    when: 'duration("1d") < duration("1h")',
    want: { line: 1, column: 10, message: '"1d" is no duration such as 1h30m' },
  },
  {
    name: 'loops with two names that multiply',
    when: '[1].all(i, a, [1].all(j, b, [1].exists(k, c, true)))',
    want: { line: 1, column: 1, message: 'loops stand 3 deep within each other: expected at most 2' },
  },
  {
    name: 'loops that multiply',
    when: '[1].all(a, [1].all(b, [1].all(c, true)))',
    want: { line: 1, column: 1, message: 'loops stand 3 deep within each other: expected at most 2' },
  },
  {
    name: 'too many parts',
    when: `${'1+'.repeat(1500)}1 == 1`,
    want: { line: 1, column: 1, message: 'the expression has more than 2000 parts' },
  },
  {
    name: 'a text that is too long',
    when: `true || ${'true || '.repeat(600)} true`,
    want: { line: 1, column: 1, message: 'the expression is longer than 4096 bytes' },
  },
])('policyProblem: $name does not compile', ({ when, want }) => {
  expect(policyProblem([{ name: 'r', when, effect: 'Approve' }])).toEqual({ rule: 'r', ...want });
});

test('policyProblem refuses reserved labels, by subdomain too, ones that Kubernetes does not take, and too many rules', () => {
  const rule = { name: 'r', when: 'true', effect: 'Approve' } as const;
  expect(policyProblem([{ ...rule, labels: { 'x.k8s.io/a': 'b' } }])?.message).toBe(
    'the label "x.k8s.io/a" is reserved',
  );
  expect(policyProblem([{ ...rule, labels: { 'notk8s.io/a': 'b' } }])).toBeUndefined();
  expect(policyProblem([{ ...rule, labels: { 'a b': 'c' } }])?.message).toContain('"a b" is no key');
  expect(policyProblem(Array.from({ length: 10_000 }, () => rule))?.message).toBe(
    'a policy has at most 64 rules',
  );
});

test('many requests at once get the answers that each gets by itself, in their order', async () => {
  const names = ['alpha', 'beta', 'alpha-2', 'gamma'];
  const asked = [
    ...policies('request.clusterName.startsWith("alpha")'),
    ...policies('claimed.region == "eu" && request.clusterName == "gamma"'),
  ];
  const inputs = names.map((clusterName) => input({ clusterName }));
  const each = [];
  for (const one of inputs) each.push(await evaluator.evaluate({ policies: asked, input: one }));
  expect(each.map((one) => one.kind === 'evaluated' && one.answer.matches.length)).toEqual([1, 0, 1, 0]);
  expect(await evaluator.evaluateAll({ policies: asked, inputs })).toEqual(each);
});

test('a worker that comes to its end over something else costs the request nothing: chaos, seed 3208', async () => {
  process.once('worker', (worker: Worker) => worker.once('message', () => void worker.terminate()));
  const afflicted = createPolicyEvaluator({ deadlineMs: 100 });
  onTestFinished(() => afflicted.close());
  const result = await afflicted.evaluate({ policies: policies('token.valid'), input: input() });
  expect(result).toMatchObject({ kind: 'evaluated', answer: { matches: [{ policy: 'p', rule: 'r' }] } });
});

test('a request that takes too long takes nothing from those that are asked with it', async () => {
  const list = `[${'0,'.repeat(200)}0]`;
  const slow = `request.clusterName != "slow" || ${list}.all(a, ${list}.all(b, ${list}.all(c, a + b + c >= 0)))`;
  const asked = policies(slow);
  const inputs = ['alpha', 'slow', 'beta'].map((clusterName) => input({ clusterName }));
  const kinds = (await evaluator.evaluateAll({ policies: asked, inputs })).map(({ kind }) => kind);
  expect(kinds).toEqual(['evaluated', 'timeout', 'evaluated']);
});

test('a policy that is larger than an event can be does not compile', () => {
  const rules = Array.from({ length: 64 }, (_, at) => ({
    name: `r-${at}`,
    when: `true || "${'x'.repeat(4000)}" == ""`,
    effect: 'Approve' as const,
  }));
  expect(policyProblem(rules.slice(0, 32))).toBeUndefined();
  expect(policyProblem(rules)).toMatchObject({
    rule: 'r-63',
    message: expect.stringMatching(/expected at most 131072/),
  });
});
