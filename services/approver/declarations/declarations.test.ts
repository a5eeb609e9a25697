import {
  policyDeclared,
  setDeclared,
  type TokenDeclaration,
  draft,
  tokenDeclared,
  tokenPublished,
  foldRecord,
  tokenRecord,
  type TokenRecord,
  tokenWithdrawn,
  type EventDraft,
  type AggregateId,
} from '@rollcall/shared/events';
import type { AggregateRecord } from '@rollcall/shared/events';
import type { ApprovalPolicy } from '@rollcall/shared/resources';
import type { Logger } from '@rollcall/shared/service';
import { describe, expect, test } from 'vitest';
import { declaredPolicies, declaredSets, declaredTokens } from './declared-kinds.ts';
import { decidePolicy, type WantedPolicy } from './policy-declaration.ts';
import { decideSet } from './set-declaration.ts';
import { setProblem } from '@rollcall/shared/resources/set-problem';
import { stored } from '../tests/builders.ts';
import {
  decideToken,
  keyMadeFor,
  objectThatCounts,
  readToken,
  type TokenObject,
} from './token-declaration.ts';

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
const rules = { allowEndless: false, namespaces: ['rollcall-join', 'team-a'] };
const declare = (token: TokenObject, allowEndless = false): TokenDeclaration =>
  readToken(token, { ...rules, nowMs, allowEndless });
/** A token that the hub is to make. */
const toPublish = (spec: Partial<TokenObject['spec']> = {}): TokenObject => {
  const { publicKey: _none, ...own } = aToken().spec;
  return { ...aToken(), spec: { ...own, publish: true, ...spec } };
};
const after = (aggregate: AggregateId, ...drafts: EventDraft[]) =>
  foldRecord(
    aggregate,
    drafts.map((each, index) => stored(each, index + 1)),
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
  { name: 'ttl 0 where the hub does not allow it', ttl: '0', says: 'for ever' },
  { name: 'a ttl that is no duration', ttl: '5m1h', says: 'is no duration' },
  { name: 'a ttl of nothing', ttl: '0h', says: 'over at once' },
  { name: 'a ttl below zero, which the schema refuses as well', ttl: '-5m', says: 'is no duration' },
  { name: 'a ttl of more than ten years', ttl: '3654d', says: 'ten years' },
  { name: 'a ttl that no number can hold', ttl: '99999999999999999999d', says: 'is no duration' },
])('$name lets nobody in and says why', ({ ttl, says }) => {
  const declaration = declare(aToken({ ttl }));
  expect(declaration).toMatchObject({ withdrawn: true, problem: { reason: 'InvalidTtl' } });
  expect(declaration.problem?.message).toContain(says);
  expect(declaration).not.toHaveProperty('expiresAtMs');
});

test.each([
  { name: 'a key that is none', labels: { 'no key': 'x' }, says: '"no key" is no key' },
  {
    name: 'a value that is none',
    labels: { env: 'test/eu' },
    says: 'the label "env" has the value "test/eu"',
  },
  { name: 'a reserved key', labels: { 'a.k8s.io/x': 'y' }, says: '"a.k8s.io/x" is reserved' },
])('a token with $name among its labels lets nobody in and says why', ({ labels, says }) => {
  const declaration = declare(aToken({ labels: { fine: '1', ...labels } }));
  expect(declaration).toMatchObject({ withdrawn: true, problem: { reason: 'InvalidLabels' } });
  expect(declaration.problem?.message).toContain(says);
  expect(declaration).toHaveProperty('expiresAtMs');
});

test('a token counts in the namespaces of the hub and nowhere else', () => {
  expect(declare(aToken({}, { namespace: 'team-a' }))).toMatchObject({ withdrawn: false });
  const elsewhere = declare(aToken({}, { namespace: 'tenant' }));
  expect(elsewhere).toMatchObject({ withdrawn: true, problem: { reason: 'InvalidNamespace' } });
  expect(elsewhere.problem?.message).toBe(
    'tokens in namespace "tenant" do not count on this hub; make it in rollcall-join or team-a',
  );
});

test('where tokens do not count, whatever else is written into one says nothing new', () => {
  const elsewhere = (spec: object) => declare(aToken(spec, { namespace: 'tenant' }));
  const more = { labels: { env: 'x' }, allowLabels: ['a', 'b'], description: 'long', ttl: '1h', uses: 7 };
  expect(elsewhere(more)).toEqual(elsewhere({}));
});

test('an older object with the same key, where tokens do not count, neither ends nor widens a token', () => {
  const theirs = aToken(
    { uses: 'unlimited' },
    { namespace: 'tenant', creationTimestamp: '2020-01-01T00:00:00Z' },
  );
  const ours = aToken({}, { uid: 'u2' });
  expect(objectThatCounts([theirs, ours], rules)).toBe(ours);
  expect(objectThatCounts([theirs], rules)).toBe(theirs);
});

test('a token that gives a set into which none can be put lets nobody in, until it can', () => {
  const token = aToken({ clusterSet: 'emea' });
  const whenSynced = Promise.resolve();
  const judged = (problem: string | undefined, record = after({ kind: 'token', id: 'uabc' })) => {
    const sets = { whenSynced, problemOf: () => problem };
    return declaredTokens({ rules, nowMs: () => nowMs, sets }).decide(record, [token]);
  };
  const first = judged(setProblem('emea', undefined));
  expect(first).toMatchObject([
    {
      reason: 'TokenInvalid',
      message: expect.stringContaining('there is no set "emea"'),
      section: { withdrawn: true, problem: { reason: 'InvalidSet' } },
    },
  ]);
  const then = judged(undefined, after({ kind: 'token', id: 'uabc' }, ...first));
  expect(then).toMatchObject([
    { reason: 'TokenDeclared', section: { withdrawn: false, clusterSet: 'emea' } },
  ]);
});

test('a token whose set is gone ends when it would have', () => {
  const { expiresAtMs } = readToken(aToken(), { ...rules, nowMs, setProblem: 'no such set' });
  expect(expiresAtMs).toBe(createdAtMs + 86_400_000);
});

test('a token that is deleted while it cannot be taken is withdrawn all the same, once', () => {
  const aggregate = { kind: 'token', id: 'uabc' } as const;
  const bad = decideToken({
    record: tokenRecord(after(aggregate)),
    wanted: declare(aToken({ ttl: '5m1h' })),
    nowMs,
  });
  const gone = decideToken({ record: tokenRecord(after(aggregate, ...bad)), wanted: undefined, nowMs });
  expect(gone).toMatchObject([{ reason: 'TokenDeleted', section: { withdrawn: true } }]);
  expect(gone[0]?.section).not.toHaveProperty('problem');
  const record = tokenRecord(after(aggregate, ...bad, ...gone));
  expect(decideToken({ record, wanted: undefined, nowMs })).toEqual([]);
});

test.each([
  { name: 'none', set: undefined, want: expect.stringContaining('there is no set "a"') },
  {
    name: 'one by labels',
    set: { type: 'LabelSelector', labelSelector: {} } as const,
    want: expect.stringContaining('none can be put'),
  },
  { name: 'one by the exclusive label', set: { type: 'ExclusiveLabel' } as const, want: undefined },
])('the problem of a set: $name', ({ set, want }) => {
  const problem = setProblem('a', set && { spec: { selector: set } });
  expect(problem).toEqual(want);
});

test.each([
  { ttl: '7d', hours: 7 * 24 },
  { ttl: '3653d', hours: 3653 * 24 },
])('a ttl in days counts: $ttl', ({ ttl, hours }) => {
  const declaration = declare(aToken({ ttl }));
  expect(declaration).toMatchObject({ withdrawn: false, expiresAtMs: createdAtMs + hours * 3_600_000 });
});

test('a token that the hub is to make has no key yet, and stands under its object', () => {
  expect(declare(toPublish())).toMatchObject({ publicationId: 'publish-u1' });
  expect(declare(toPublish())).not.toHaveProperty('publicKey');
});

const publishedAs = { kind: 'token', id: 'publish-u1' } as const;
const ofKeyId = { kind: 'token', id: 'ukey' } as const;
const publication = { state: 'published' as const, publicKey: 'UKEY', secretUid: 's1', atMs: nowMs };

/** The two aggregates of a token that the hub made, after what the decision says. */
function publishedToken(): { record: TokenRecord; ofKey: TokenRecord } {
  const asked = decideToken({
    record: tokenRecord(after(publishedAs)),
    wanted: declare(toPublish()),
    nowMs,
  });
  const told = draft(
    tokenPublished,
    { aggregate: publishedAs, head: undefined },
    { reason: 'Published', message: 'm', section: publication },
  );
  const record = tokenRecord(after(publishedAs, ...asked, told));
  const ofKey = tokenRecord(after(ofKeyId));
  const drafts = decideToken({ record, wanted: declare(toPublish()), nowMs, ofKey });
  expect(drafts.map(({ aggregate }) => aggregate.id)).toEqual(['publish-u1', 'ukey']);
  return {
    record: tokenRecord(after(publishedAs, ...asked, told, ...drafts.slice(0, 1))),
    ofKey: tokenRecord(after(ofKeyId, ...drafts.slice(1))),
  };
}

test('the first key of a token that the hub makes is its key for ever, whatever is said of another', () => {
  const { record } = publishedToken();
  const another = { ...publication, publicKey: 'UOTHER' };
  expect(keyMadeFor({ ...record, publication: another })).toBe('UKEY');
  expect(keyMadeFor({ ...record, publication: undefined })).toBe('UKEY');
});

test('a token with a key of its own gets no other one, and its key is given to no other token', () => {
  const aggregate = { kind: 'token', id: 'uabc' } as const;
  const own = decideToken({ record: tokenRecord(after(aggregate)), wanted: declare(aToken()), nowMs });
  const ofKey = tokenRecord(after(aggregate, ...own));
  expect(keyMadeFor({ ...ofKey, publication })).toBeUndefined();
  const asked = decideToken({
    record: tokenRecord(after(publishedAs)),
    wanted: declare(toPublish()),
    nowMs,
  });
  const record = { ...tokenRecord(after(publishedAs, ...asked)), publication };
  expect(decideToken({ record, wanted: declare(toPublish()), nowMs, ofKey })).toEqual([]);
  const gone = decideToken({ record, wanted: undefined, nowMs, ofKey });
  expect(gone.map((each) => each.aggregate.id)).toEqual(['publish-u1']);
});

test('once its key is published, the approver declares it there too, and that is what lets clusters in', () => {
  const { ofKey } = publishedToken();
  expect(ofKey.declaration).toMatchObject({
    publicKey: 'UKEY',
    publicationId: 'publish-u1',
    withdrawn: false,
  });
});

test('a published token is changed and withdrawn on both of its aggregates at once', () => {
  const both = publishedToken();
  const changed = decideToken({ ...both, wanted: declare(toPublish({ uses: 5 })), nowMs });
  expect(changed.map(({ aggregate }) => aggregate.id)).toEqual(['publish-u1', 'ukey']);
  const gone = decideToken({ ...both, wanted: undefined, nowMs });
  expect(gone.map(({ definition }) => definition)).toEqual([tokenWithdrawn, tokenWithdrawn]);
});

test('the aggregate of a key that the hub made is never decided about alone', () => {
  const { ofKey } = publishedToken();
  const kind = declaredTokens({ rules, nowMs: () => nowMs });
  expect(kind.decide(ofKey, [])).toEqual([]);
  expect(kind.decide(ofKey, [aToken({ publicKey: 'UKEY', uses: 'unlimited' })])).toEqual([]);
});

test('a token with a mistake is declared once with it, and again without it', () => {
  const aggregate = { kind: 'token', id: 'uabc' } as const;
  const good = decideToken({ record: tokenRecord(after(aggregate)), wanted: declare(aToken()), nowMs });
  const bad = decideToken({
    record: tokenRecord(after(aggregate, ...good)),
    wanted: declare(aToken({ ttl: '0' })),
    nowMs,
  });
  expect(bad).toMatchObject([{ reason: 'TokenInvalid', section: { withdrawn: true } }]);
  const record = tokenRecord(after(aggregate, ...good, ...bad));
  expect(decideToken({ record, wanted: declare(aToken({ ttl: '0' })), nowMs })).toEqual([]);
  expect(decideToken({ record, wanted: declare(aToken()), nowMs })).toMatchObject([
    { reason: 'TokenDeclared', section: { withdrawn: false } },
  ]);
});

test('an object that goes after its end is told as expired, not as deleted by somebody', () => {
  const aggregate = { kind: 'token', id: 'uabc' } as const;
  const made = decideToken({ record: tokenRecord(after(aggregate)), wanted: declare(aToken()), nowMs });
  const record = tokenRecord(after(aggregate, ...made));
  const endMs = createdAtMs + 86_400_000;
  expect(decideToken({ record, wanted: undefined, nowMs: endMs })[0]?.reason).toBe('TokenExpired');
  expect(decideToken({ record, wanted: undefined, nowMs: endMs - 1 })[0]?.reason).toBe('TokenDeleted');
});

test('of two objects with one key, the older one counts', () => {
  const older = aToken();
  const copy = aToken({ uses: 'unlimited' }, { uid: 'u0', creationTimestamp: '2026-11-21T12:00:01Z' });
  expect(objectThatCounts([copy, older], rules)).toBe(older);
  expect(objectThatCounts([], rules)).toBeUndefined();
});

test('a token is declared once, again when it changes, and withdrawn once', () => {
  const aggregate = { kind: 'token', id: 'uabc' } as const;
  const first = decideToken({ record: tokenRecord(after(aggregate)), wanted: declare(aToken()), nowMs });
  expect(first.map(({ definition }) => definition)).toEqual([tokenDeclared]);
  const record = tokenRecord(after(aggregate, ...first));
  expect(decideToken({ record, wanted: { ...declare(aToken()), declaredAtMs: nowMs + 9 }, nowMs })).toEqual(
    [],
  );
  expect(decideToken({ record, wanted: declare(aToken({ uses: 2 })), nowMs })).toHaveLength(1);
  const gone = decideToken({ record, wanted: undefined, nowMs });
  expect(gone[0]?.section).toMatchObject({ withdrawn: true, name: 't' });
  const withdrawn = tokenRecord(after(aggregate, ...first, ...gone));
  expect(decideToken({ record: withdrawn, wanted: undefined, nowMs })).toEqual([]);
  expect(decideToken({ record: withdrawn, wanted: declare(aToken()), nowMs })).toHaveLength(1);
  expect(decideToken({ record: tokenRecord(after(aggregate)), wanted: undefined, nowMs })).toEqual([]);
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

test('a policy that an older version could not read is good for this one, although nobody has touched it', () => {
  const warned: string[] = [];
  const logger = { warn: (_fields: unknown, message: string) => warned.push(message) } as unknown as Logger;
  const read = (when: string, record: AggregateRecord) => {
    const metadata = { name: 'p', uid: 'u1', resourceVersion: '1', generation: 2 };
    const spec = { rules: [{ name: 'r', when, effect: 'Approve' }] } as ApprovalPolicy['spec'];
    const { apiVersion, kind } = { apiVersion: 'rollcall.dev/v1alpha1', kind: 'ApprovalPolicy' } as const;
    return declaredPolicies(logger).decide(record, [{ apiVersion, kind, metadata, spec }]);
  };
  const before = after(policyId, ...decidePolicy({ record: after(policyId), wanted: broken }));
  expect(read('token.valid', before)).toMatchObject([{ reason: 'PolicyDeclared' }]);
  const stillBad = after(policyId, ...read('token.nothing', after(policyId)));
  expect(read('token.nothing', stillBad)).toEqual([]);
  expect(warned).toEqual(['policy does not compile']);
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

describe('who wrote it', () => {
  const attributed = { annotations: { 'rollcall.dev/changed-by': 'anna' } };
  const kind = declaredTokens({ rules, nowMs: () => nowMs });
  const byOf = (drafts: readonly EventDraft[]) => drafts.map(({ by }) => by);
  const record = foldRecord({ kind: 'token', id: 'UABC' }, []);

  test.each([
    { name: 'is in the event, where the API server says it', metadata: attributed, want: { person: 'anna' } },
    { name: 'is unknown where it does not', metadata: {}, want: { person: 'unknown' } },
  ])('$name', ({ metadata, want }) => {
    expect(byOf(kind.decide(record, [aToken({}, metadata)]))).toEqual([want]);
    const set = {
      apiVersion: 'rollcall.dev/v1alpha1',
      kind: 'ManagedClusterSet',
      metadata: { name: 's', uid: 'u', resourceVersion: '1', ...metadata },
      spec: { selector: { type: 'ExclusiveLabel' as const } },
    };
    expect(byOf(declaredSets.decide(foldRecord({ kind: 'set', id: 's' }, []), [set]))).toEqual([want]);
  });

  test('another name alone is no change', () => {
    const declared = foldRecord(
      { kind: 'token', id: 'UABC' },
      kind.decide(record, [aToken()]).map((each) => stored(each, 1)),
    );
    expect(kind.decide(declared, [aToken({}, attributed)])).toEqual([]);
  });

  test('of a delete nobody says who it was', () => {
    const declared = foldRecord(
      { kind: 'token', id: 'UABC' },
      kind.decide(record, [aToken({}, attributed)]).map((each) => stored(each, 1)),
    );
    expect(byOf(kind.decide(declared, []))).toEqual([{ person: 'unknown' }]);
  });
});
