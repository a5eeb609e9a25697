import { describe, expect, test } from 'vitest';
import { findingsOf } from './check-policy.ts';
import { parsePolicyFile } from './policy-file.ts';

const head =
  'apiVersion: rollcall.dev/v1alpha1\nkind: ApprovalPolicy\nmetadata: {name: p}\nspec:\n  rules:\n';
const rule = (when: string, name = 'r') => `    - name: ${name}\n      when: ${when}\n      effect: Hold\n`;

async function said(text: string): Promise<string[]> {
  const findings = await findingsOf(parsePolicyFile(text));
  return findings.map(({ line, column, severity, message }) => `${line}:${column} ${severity} ${message}`);
}

const nested = `${'('.repeat(100)}true${')'.repeat(100)}`;
const zeros = `[${Array.from({ length: 256 }, () => 0).join(',')}]`;
const exploding = `${zeros}.all(a, ${zeros}.all(b, ${'request.clusterName.split("").size() > 0 && '.repeat(60)}true))`;

describe('bad input, each with a text of its own', () => {
  test.each([
    {
      name: 'a syntax error of YAML',
      text: `${head}    - [`,
      want: /^\d+:\d+ error Flow sequence/,
    },
    {
      name: 'a syntax error of CEL',
      text: head + rule('token.valid &&'),
      want: '7:27 error rule "r": the expression ends too early: expected a value',
    },
    {
      name: 'a field that a policy has not',
      text: `${head}    - {name: r, when: "true", effect: Hold, color: red}\n`,
      want: '6:45 error there is no field "color": expected one of name, when, effect, reason, labels, clusterSet, access',
    },
    {
      name: 'a field that an expression cannot read',
      text: head + rule('token.color == 1'),
      want: /^7:19 error rule "r": token has no field "color"/,
    },
    {
      name: 'a type error',
      text: head + rule('token.uses == "many"'),
      want: '7:13 error rule "r": no such overload: int == string: expected two values of one type that it works on',
    },
    {
      name: 'no bool',
      text: head + rule('token.uses'),
      want: '7:13 error rule "r": the expression gives int: expected true or false (bool)',
    },
    {
      name: 'nested too deep',
      text: head + rule(nested),
      want: '7:77 error rule "r": the expression is nested deeper than 64 levels',
    },
    {
      name: 'loops that multiply',
      text: head + rule('"[1].all(a, [1].all(b, [1].all(c, true)))"'),
      want: '7:14 error rule "r": loops stand 3 deep within each other: expected at most 2',
    },
    {
      name: 'an expression that does not end in time',
      text: head + rule(`'${exploding}'`),
      want: '7:14 error rule "r": the expression takes too long: more than 100 ms, so the request would be held',
    },
    {
      name: 'a pattern that is none',
      text: head + rule('request.clusterName.matches("(a")'),
      want: '7:41 error rule "r": "(a" is no pattern: missing closing ): `(a`',
    },
    {
      name: 'a huge expression',
      text: head + rule(`'${'true || '.repeat(600)}true'`),
      want: /^7:\d+ error spec\.rules\.0\.when: Too big: expected string to have <=4096 characters/,
    },
    {
      name: '10,000 rules',
      text: head + Array.from({ length: 10_000 }, (_, index) => rule('"true"', `r${index}`)).join(''),
      want: /^6:5 error spec\.rules: Too big: expected array to have <=64 items/,
    },
    {
      name: 'two rules of one name',
      text: head + rule('"true"') + rule('"true"'),
      want: '9:13 error two rules are called "r"',
    },
    {
      name: 'an effect that there is not',
      text: head + rule('"true"').replace('Hold', 'Allow'),
      want: /^8:15 error spec\.rules\.0\.effect: Invalid option/,
    },
    {
      name: 'a reserved label',
      text: `${head + rule('"true"')}      labels: {rollcall.dev/cluster-set: edge}\n`,
      want: '7:14 error rule "r": the label "rollcall.dev/cluster-set" is reserved',
    },
    {
      name: 'another version',
      text: (head + rule('"true"')).replace('v1alpha1', 'v1'),
      want: '1:13 error expected apiVersion rollcall.dev/v1alpha1',
    },
    {
      name: 'no kind',
      text: 'rules: []',
      want: '1:1 error there is no kind: expected ApprovalPolicy',
    },
    {
      name: 'aliases that explode',
      text: `a: &a [${'x,'.repeat(50)}x]\nb: &b [${'*a,'.repeat(50)}*a]\nc: &c [${'*b,'.repeat(50)}*b]\nd: [${'*c,'.repeat(50)}*c]\n`,
      want: '1:1 error Excessive alias count indicates a resource exhaustion attack',
    },
  ])('$name', async ({ text, want }) => {
    const [first = ''] = await said(text);
    const fits = typeof want === 'string' ? first === want : want.test(first);
    expect({ first, fits }).toEqual({ first, fits: true });
  });
});

test('places are those of the file: in quotes, in blocks, in the second document', async () => {
  const quoted = head + rule('"token.valid && token.color == 1"');
  const block = head + rule('|\n        token.valid &&\n          token.color == 1').replaceAll('\t', '');
  const folded = head + rule('>-\n        token.valid &&\n        token.color == 1');
  expect((await said(quoted))[0]).toMatch(/^7:35 /);
  expect((await said(block))[0]).toMatch(/^9:17 /);
  expect((await said(folded))[0]).toMatch(/^7:13 .*\(line 1, column 22 of the expression\)$/);
  expect(
    (await said(`${head + rule('token.valid')}---\n${(head + rule('token.color')).replace('p}', 'q}')}`))[0],
  ).toMatch(/^16:19 /);
});

test('a pattern that repeats a part that repeats is as good as any', async () => {
  expect(await said(head + rule('request.clusterName.matches("^(a+)+$")'))).toEqual([]);
});

test('what approves on claims alone is warned of, and no mistake', async () => {
  expect(await said(head + rule('claimed.nodes > 1').replace('Hold', 'Approve'))).toEqual([
    '7:13 warning rule "r": rule "r" approves on what the agent says of itself; ask for token.* or verified.* too (ApprovesOnClaims)',
  ]);
});

test('other objects of the file are left alone; two policies of one name are a mistake', async () => {
  const service = 'apiVersion: v1\nkind: Service\nmetadata: {name: s}\n---\n';
  const file = parsePolicyFile(service + head + rule('token.valid'));
  expect(file).toMatchObject({ others: ['Service'], problems: [] });
  expect(file.policies).toHaveLength(1);
  const twice = `${head + rule('token.valid')}---\n${head + rule('token.valid')}`;
  expect((await said(twice))[0]).toMatch(/^16:13 error two policies are called "p"/);
});

test('a List, as `get -o yaml` prints it, is the objects in it, each at its place', async () => {
  const indented = (text: string) => text.replaceAll(/^(?=.)/gm, '    ').replace(/^ {4}/, '  - ');
  const list = (...texts: string[]) => `apiVersion: v1\nkind: List\nitems:\n${texts.map(indented).join('')}`;
  const good = head + rule('token.valid');
  const file = parsePolicyFile(list(good, 'apiVersion: v1\nkind: Service\n'));
  expect(file).toMatchObject({ policies: [{ name: 'p' }], others: ['Service'], problems: [] });
  const bad = (head + rule('token.color')).replace('p}', 'q}');
  expect((await said(list(good, bad)))[0]).toMatch(/^18:23 error rule "r": token has no field "color"/);
  expect(await said(list(good, good))).toEqual([expect.stringMatching(/^18:17 error two policies are/)]);
  const field = `${head}    - {name: r, when: "true", effect: Hold, color: red}\n`;
  expect((await said(list(field)))[0]).toMatch(/^9:49 error there is no field "color"/);
  expect(await said(list(good, '{}\n'))).toEqual(['12:5 error there is no kind: expected ApprovalPolicy']);
});
