import {
  policyDeclared,
  setDeclared,
  type TokenDeclaration,
  tokenDeclared,
  foldRecord,
  tokenRecord,
  type EventDraft,
  type AggregateId,
} from '@rollcall/shared/events';
import { expect, test } from 'vitest';
import { decidePolicy, type WantedPolicy } from './policy-declaration.ts';
import { decideSet } from './set-declaration.ts';
import { stored } from './tests/builders.ts';
import { decideToken, objectThatCounts, readToken, type TokenObject } from './token-declaration.ts';

const createdAtMs = Date.UTC(2026, 10, 21, 12);
const nowMs = createdAtMs + 500;

const aToken = (
  spec: Partial<TokenObject['spec']> = {},
  metadata: Partial<TokenObject['metadata']> = {},
): TokenObject => ({
  apiVersion: 'rollcall.dev/v1alpha1',
  kind: 'ClusterRegistrationToken',
  metadata: {
    name: 't',
    namespace: 'rollcall-join',
    uid: 'u1',
    resourceVersion: '1',
    creationTimestamp: '2026-11-21T12:00:00Z',
    ...metadata,
  },
  spec: { publicKey: 'UABC', ttl: '24h', uses: 1, ...spec },
});
const declare = (token: TokenObject, allowEndless = false): TokenDeclaration => {
  const wanted = readToken(token, { nowMs, allowEndless });
  if (!wanted || !('declaration' in wanted)) throw new Error('not taken');
  return wanted.declaration;
};
const after = (aggregate: AggregateId, ...drafts: EventDraft[]) =>
  foldRecord(
    aggregate,
    drafts.map((draft, index) => stored(draft, index + 1)),
  );

test.each([
  {
    name: 'ttl counts from when the object was made',
    token: aToken({ ttl: '90m' }),
    want: createdAtMs + 5_400_000,
  },
  {
    name: 'ttl 0 never ends, where the hub allows it',
    token: aToken({ ttl: '0' }),
    allowEndless: true,
    want: undefined,
  },
])('readToken: $name', ({ token, allowEndless, want }) => {
  expect(declare(token, allowEndless).expiresAtMs).toBe(want);
});

test.each([
  { name: 'ttl 0 where the hub does not allow it', token: aToken({ ttl: '0' }) },
  { name: 'a ttl that is no duration', token: aToken({ ttl: '5m1h' }) },
])('readToken does not take $name', ({ token }) => {
  expect(readToken(token, { nowMs, allowEndless: false })).toHaveProperty('problem');
});

test('a token that the hub is to make has no key yet', () => {
  const { publicKey: _none, ...spec } = aToken().spec;
  expect(
    readToken({ ...aToken(), spec: { ...spec, publish: true } }, { nowMs, allowEndless: false }),
  ).toBeUndefined();
});

test('of two objects with one key, the older one counts', () => {
  const older = aToken();
  const copy = aToken({ uses: 'unlimited' }, { uid: 'u0', creationTimestamp: '2026-11-21T12:00:01Z' });
  expect(objectThatCounts([copy, older])).toBe(older);
  expect(objectThatCounts([])).toBeUndefined();
});

test('a token is declared once, again when it changes, and withdrawn once', () => {
  const aggregate = { kind: 'token', id: 'uabc' } as const;
  const first = decideToken({ record: tokenRecord(after(aggregate)), wanted: declare(aToken()) });
  expect(first.map(({ definition }) => definition)).toEqual([tokenDeclared]);
  const record = tokenRecord(after(aggregate, ...first));
  expect(decideToken({ record, wanted: { ...declare(aToken()), declaredAtMs: nowMs + 9 } })).toEqual([]);
  expect(decideToken({ record, wanted: declare(aToken({ uses: 2 })) })).toHaveLength(1);
  const gone = decideToken({ record, wanted: undefined });
  expect(gone[0]?.section).toMatchObject({ withdrawn: true, name: 't' });
  const withdrawn = tokenRecord(after(aggregate, ...first, ...gone));
  expect(decideToken({ record: withdrawn, wanted: undefined })).toEqual([]);
  expect(decideToken({ record: withdrawn, wanted: declare(aToken()) })).toHaveLength(1);
  expect(decideToken({ record: tokenRecord(after(aggregate)), wanted: undefined })).toEqual([]);
});

const policy = (overrides: Partial<WantedPolicy> = {}): WantedPolicy => ({
  name: 'p',
  uid: 'u1',
  generation: 1,
  rules: [{ name: 'r', when: 'token.valid', effect: 'Approve' }],
  problem: undefined,
  warnings: [],
  ...overrides,
});
const broken = policy({ generation: 2, rules: [], problem: { rule: 'r', line: 1, column: 2, message: 'm' } });
const policyId = { kind: 'policy', id: 'p' } as const;

test('a policy that does not compile leaves the last good version in force', () => {
  const good = decidePolicy({ record: after(policyId), wanted: policy() });
  expect(good[0]).toMatchObject({ definition: policyDeclared, reason: 'PolicyDeclared' });
  const [bad] = decidePolicy({ record: after(policyId, ...good), wanted: broken });
  expect(bad).toMatchObject({ reason: 'PolicyInvalid', message: 'rule "r", line 1, column 2: m' });
  expect(bad?.section).toMatchObject({
    generation: 1,
    rules: policy().rules,
    problem: { generation: 2, column: 2 },
  });
});

test('warnings stand in the event, those of the last good version while a newer one does not compile', () => {
  const warnings = [{ rule: 'r', reason: 'ApprovesOnClaims', message: 'm' }] as const;
  const good = decidePolicy({ record: after(policyId), wanted: policy({ warnings }) });
  expect(good[0]?.section).toMatchObject({ warnings });
  const [bad] = decidePolicy({ record: after(policyId, ...good), wanted: broken });
  expect(bad?.section).toMatchObject({ warnings, problem: { generation: 2 } });
  const [better] = decidePolicy({ record: after(policyId, ...good), wanted: policy({ generation: 3 }) });
  expect(better?.section).not.toHaveProperty('warnings');
});

test('a policy that never compiled has no rule in force', () => {
  const [bad] = decidePolicy({ record: after(policyId), wanted: broken });
  expect(bad?.section).toMatchObject({ rules: [], problem: { generation: 2 } });
});

test('a deleted policy does not come back through a broken one of its name', () => {
  const good = decidePolicy({ record: after(policyId), wanted: policy() });
  const gone = decidePolicy({ record: after(policyId, ...good), wanted: undefined });
  expect(gone[0]?.section).toMatchObject({ withdrawn: true });
  const [bad] = decidePolicy({ record: after(policyId, ...good, ...gone), wanted: broken });
  expect(bad?.section).toMatchObject({ rules: [], withdrawn: false });
  const [other] = decidePolicy({ record: after(policyId, ...good), wanted: { ...broken, uid: 'u2' } });
  expect(other?.section).toMatchObject({ rules: [] });
});

test('the same policy twice is one event', () => {
  const good = decidePolicy({ record: after(policyId), wanted: policy() });
  expect(decidePolicy({ record: after(policyId, ...good), wanted: policy() })).toEqual([]);
});

test('a set is declared once and withdrawn once', () => {
  const setId = { kind: 'set', id: 's' } as const;
  const wanted = {
    name: 's',
    uid: 'u',
    generation: 1,
    selectorType: 'ExclusiveLabel',
    withdrawn: false,
  } as const;
  const first = decideSet({ record: after(setId), wanted });
  expect(first[0]?.definition).toBe(setDeclared);
  expect(decideSet({ record: after(setId, ...first), wanted })).toEqual([]);
  const gone = decideSet({ record: after(setId, ...first), wanted: undefined });
  expect(decideSet({ record: after(setId, ...first, ...gone), wanted: undefined })).toEqual([]);
});
