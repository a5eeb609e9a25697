import { expect, test } from 'vitest';
import { policyWarnings, setWarnings } from './policy-warning.ts';

test.each([
  { when: 'claimed.provider == "aws"', want: ['ApprovesOnClaims'] },
  { when: 'cel.bind(says, claimed, says.nodes > 1)', want: ['ApprovesOnClaims'] },
  { when: 'request.clusterName == "a" && claimed.nodes > 1', want: ['ApprovesOnClaims'] },
  { when: 'token.valid && claimed.provider == "aws"', want: [] },
  { when: '!verified.keyChanged && claimed.provider == "aws"', want: [] },
  { when: 'token.valid || claimed.nodes > 10', want: ['ApprovesOnClaims'] },
  { when: '(token.valid || claimed.nodes > 10) && request.clusterName == "a"', want: ['ApprovesOnClaims'] },
  { when: '(claimed.nodes > 10 || claimed.provider == "aws") && token.valid', want: [] },
  { when: 'claimed.labels.exists(token, token == "a")', want: ['ApprovesOnClaims'] },
  { when: 'cel.bind(verified, claimed.nodes, verified > 1)', want: ['ApprovesOnClaims'] },
  { when: 'token.labels.exists(token, claimed.labels[token] == "a")', want: [] },
  { when: 'cel.bind(claimed, token.valid, claimed)', want: [] },
  { when: 'true', want: [] },
  { when: 'claimed.region.matches("(x*)*")', want: ['ApprovesOnClaims'] },
  { when: 'claimed.labels.exists(key, token, token == "a")', want: ['ApprovesOnClaims'] },
  { when: 'token.labels.transformList(claimed, value, claimed == value).size() > 0', want: [] },
  { when: 'claimed.?region.optMap(token, token == "a").orValue(false)', want: ['ApprovesOnClaims'] },
])('Approve when $when → $want', ({ when, want }) => {
  const found = policyWarnings([{ name: 'r', when, effect: 'Approve' }]);
  expect(found.map(({ reason }) => reason)).toEqual(want);
});

test('a rule that holds or denies may go by claims', () => {
  expect(policyWarnings([{ name: 'r', when: 'claimed.nodes > 1', effect: 'Deny' }])).toEqual([]);
});

test('a rule that gives a set is warned of in the words of the set, one without is not', () => {
  const rules = ['a', 'b', undefined].map((clusterSet, index) => ({
    name: `r${index}`,
    when: 'true',
    effect: 'Approve' as const,
    ...(clusterSet === undefined ? {} : { clusterSet }),
  }));
  expect(setWarnings(rules, (name) => (name === 'b' ? 'there is no set "b"' : undefined))).toEqual([
    { rule: 'r1', reason: 'InvalidSet', message: 'there is no set "b"' },
  ]);
});
