import { expect, test } from 'vitest';
import { identityHeaders, type MemberAccess, memberAccessText, parseMemberAccess } from './impersonation.ts';

const people = parseMemberAccess(['user:alice', 'group:sre=oncall']) as MemberAccess;

test('without a rule nobody gets in', () => expect(parseMemberAccess([])).toBeUndefined());

test.each([
  [['group:sre=system:masters'], 'of Kubernetes itself'],
  [['user:alice', 'group:sre=System:masters'], 'of Kubernetes itself'],
  [['user:alice', 'group:sre'], 'group:NAME-ON-THE-HUB=NAME-IN-THE-MEMBER'],
  [['user:alice', 'group:sre=a', 'group:sre=b'], 'named twice'],
  [['user:'], 'no name of a user'],
  [['user:a b'], 'no name of a user'],
  [['user:a\r\nImpersonate-User: admin'], 'a rule is'],
  [['group:sre=oncall'], 'no user is named'],
  [['service-account:visitor'], 'NAMESPACE/NAME'],
  [['service-account:rollcall-agent/rollcall-agent'], 'the agent itself'],
  [['service-account:a/b', 'user:alice'], 'stands alone'],
  [['everybody'], 'a rule is'],
])('%j is no rule', (rules, why) => expect(() => parseMemberAccess(rules)).toThrow(why));

test('a person is the user of that name, in the groups of the table and in no other', () => {
  const who = { user: 'alice', groups: ['sre', 'system:masters', 'system:authenticated', 'constructor'] };
  expect(identityHeaders(people, who)).toEqual({
    headers: { 'Impersonate-User': 'rollcall:alice', 'Impersonate-Group': ['oncall'] },
  });
  expect(identityHeaders(people, { user: 'alice', groups: [] })).toEqual({
    headers: { 'Impersonate-User': 'rollcall:alice' },
  });
});

test('a table that says otherwise all the same makes nobody one of Kubernetes itself', () => {
  const forged: MemberAccess = { as: 'people', users: ['alice'], groups: { sre: 'system:masters' } };
  expect(identityHeaders(forged, { user: 'alice', groups: ['sre'] })).toEqual({
    headers: { 'Impersonate-User': 'rollcall:alice' },
  });
});

test('who is not named does not get in', () => {
  expect(identityHeaders(people, { user: 'mallory', groups: ['sre'] })).toEqual({
    refused: expect.stringContaining('does not let "mallory" in'),
  });
});

test('what is on is one line for the hub to show', () => {
  expect(memberAccessText(people)).toBe('People as rollcall:NAME: alice, groups oncall');
  expect(memberAccessText({ as: 'account', namespace: 'a', name: 'b' })).toBe('ServiceAccount a/b');
});
