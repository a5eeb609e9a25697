import fc from 'fast-check';
import { expect, test } from 'vitest';
import { splitLabels } from './granted-labels.ts';

test.each([
  { name: 'what the token allows', key: 'team', allowed: ['team'], want: true },
  { name: 'what it does not', key: 'env', allowed: ['team'], want: false },
  { name: 'anything where no label is allowed', key: 'team', allowed: [], want: false },
  {
    name: 'a key under an allowed beginning',
    key: 'corp.example/team',
    allowed: ['corp.example/*'],
    want: true,
  },
  { name: 'a key that only begins like an allowed one', key: 'teams', allowed: ['team'], want: false },
  { name: 'ours', key: 'rollcall.dev/cluster-set', allowed: ['*'], want: false },
  { name: 'one of a subdomain of ours', key: 'sets.rollcall.dev/x', allowed: ['*'], want: false },
  { name: 'kubernetes’ own', key: 'kubernetes.io/hostname', allowed: ['*'], want: false },
  { name: 'one of its subdomains', key: 'node-role.kubernetes.io/master', allowed: ['*'], want: false },
  { name: 'the short one', key: 'app.k8s.io/name', allowed: ['*'], want: false },
  { name: 'one that only ends alike', key: 'notk8s.io/name', allowed: ['*'], want: true },
  { name: 'a name without prefix that looks like ours', key: 'rollcall.dev', allowed: ['*'], want: true },
  { name: 'no key', key: '', allowed: ['*'], want: false },
  { name: 'a key of the language', key: '__proto__', allowed: ['*'], want: false },
  { name: 'a prefix with nothing between its dots', key: 'a..b/c', allowed: ['*'], want: false },
  { name: 'a prefix with a part that begins with a dash', key: 'a.-b/c', allowed: ['*'], want: false },
  { name: 'two prefixes', key: 'a/rollcall.dev/x', allowed: ['*'], want: false },
])('$name: granted is $want', ({ key, allowed, want }) => {
  const { granted, dropped } = splitLabels({ [key]: 'v' }, allowed);
  expect(Object.keys(granted)).toEqual(want ? [key] : []);
  expect(dropped).toHaveLength(want ? 0 : 1);
});

test.each(['a b', '-a', 'a-', 'a'.repeat(64), 'ä', 'a\nb'])('the value %j is not granted', (value) => {
  expect(splitLabels({ team: value }, ['*'])).toEqual({ granted: {}, dropped: ['team'] });
});

test('a key that is not granted is told whole or cut between characters', () => {
  const key = `${'k'.repeat(79)}😀`;
  expect(splitLabels({ [key]: 'v' }, ['*']).dropped).toEqual([`${'k'.repeat(79)}\uFFFD`]);
});

test('nothing that is granted is reserved, whatever is asked and allowed', () => {
  const key = fc.oneof(
    fc.string(),
    fc
      .tuple(fc.constantFrom('rollcall.dev', 'x.k8s.io', 'kubernetes.io', 'x.dev'), fc.string())
      .map(([a, b]) => `${a}/${b}`),
  );
  fc.assert(
    fc.property(fc.dictionary(key, fc.string()), fc.array(key), (asked, allowed) => {
      const { granted, dropped } = splitLabels(asked, [...allowed, '*']);
      for (const name of Object.keys(granted))
        expect(name).not.toMatch(/(rollcall\.dev|kubernetes\.io|\bk8s\.io)\//);
      expect(dropped.length).toBeLessThanOrEqual(50);
    }),
  );
});
