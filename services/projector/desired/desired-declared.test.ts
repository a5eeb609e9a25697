import { describe, expect, test } from 'vitest';
import {
  admissionAggregate,
  admissionChanged,
  type AuthorUnknown,
  authorUnknown,
  foldRecord,
  type PolicyDeclaration,
  policyDeclared,
  type Publication,
  type TokenDeclaration,
  tokenDeclared,
  tokenPublishingFailed,
  tokenRecord,
  tokenUsed,
  type TokenUses,
  wordsOfUnknownAuthor,
} from '@rollcall/shared/events';
import type {
  ApprovalPolicy,
  ClusterRegistrationToken,
  ManagedCluster,
  ManagedClusterSet,
} from '@rollcall/shared/resources';
import { anEvent, startMs } from '../tests/cluster-record.builder.ts';
import { desiredPolicy } from './desired-policy.ts';
import { desiredSet } from './desired-set.ts';
import { isShownUnheard, withUnheard } from './ignored-edits.ts';
import { desiredToken, statusOfUnknownAuthor, tokenEndsInMs, tokenGoesInMs } from './desired-token.ts';

const metadata = { name: 'one', namespace: 'rollcall-join', uid: 'uid-1', generation: 2 };

function aToken(declared: TokenDeclaration | undefined, uses?: TokenUses) {
  return tokenRecord(
    foldRecord({ kind: 'token', id: 'one' }, [
      ...(declared ? [anEvent(tokenDeclared, declared, 1)] : []),
      ...(uses ? [anEvent(tokenUsed, uses, 2)] : []),
    ]),
  );
}

function used(times: number): TokenUses {
  return { used: times, lastUsedBy: 'cluster-1', lastUsedAtMs: startMs };
}

describe('a token', () => {
  const endsAtMs = startMs + 3_600_000;
  const object = { metadata, spec: { ttl: '1h', uses: 2 } } as ClusterRegistrationToken;
  const declaration = (more: Partial<TokenDeclaration> = {}): TokenDeclaration => ({
    publicKey: 'UKEY',
    namespace: 'rollcall-join',
    name: 'one',
    uid: 'uid-1',
    declaredAtMs: startMs,
    expiresAtMs: endsAtMs,
    uses: 2,
    labels: {},
    allowLabels: [],
    withdrawn: false,
    ...more,
  });
  test.each([
    { name: 'new', declared: declaration(), uses: undefined, nowMs: startMs, want: 'True Usable' },
    { name: 'used once of two', declared: declaration(), uses: used(1), nowMs: startMs, want: 'True Usable' },
    { name: 'used up', declared: declaration(), uses: used(2), nowMs: startMs, want: 'False UsedUp' },
    {
      name: 'unlimited',
      declared: declaration({ uses: 'unlimited' }),
      uses: used(9),
      nowMs: startMs,
      want: 'True Usable',
    },
    {
      name: 'a moment before its end',
      declared: declaration(),
      uses: undefined,
      nowMs: endsAtMs - 1,
      want: 'True Usable',
    },
    {
      name: 'exactly at its end',
      declared: declaration(),
      uses: undefined,
      nowMs: endsAtMs,
      want: 'False Expired',
    },
    { name: 'never declared', declared: undefined, uses: undefined, nowMs: startMs, want: 'nothing' },
    {
      name: 'withdrawn',
      declared: declaration({ withdrawn: true }),
      uses: undefined,
      nowMs: startMs,
      want: 'False Withdrawn',
    },
    {
      name: 'with a mistake',
      declared: declaration({ withdrawn: true, problem: { reason: 'InvalidTtl', message: 'ttl "0" …' } }),
      uses: undefined,
      nowMs: startMs,
      want: 'False InvalidTtl',
    },
    {
      name: 'with a mistake, past its end',
      declared: declaration({ withdrawn: true, problem: { reason: 'InvalidSet', message: 'no such set' } }),
      uses: undefined,
      nowMs: endsAtMs,
      want: 'False Expired',
    },
    {
      name: 'asked for, to be made by the hub',
      declared: declaration({ publicKey: undefined, publicationId: 'one' }),
      uses: undefined,
      nowMs: startMs,
      want: 'Unknown Publishing',
    },
    {
      name: 'another object of the same name',
      declared: declaration({ uid: 'uid-0' }),
      uses: undefined,
      nowMs: startMs,
      want: 'nothing',
    },
  ])('$name → $want', ({ declared, uses, nowMs, want }) => {
    const [condition] = desiredToken(aToken(declared, uses), object, nowMs)?.conditions ?? [];
    expect(condition ? `${condition.status} ${condition.reason}` : 'nothing').toBe(want);
  });

  test('it says when it ends, and is looked at again then', () => {
    const { expiresAtMs: _, ...endless } = declaration();
    expect(desiredToken(aToken(declaration()), object, startMs)?.expires).toBe('2026-01-01T01:00:00Z');
    expect(tokenEndsInMs(aToken(declaration()), endsAtMs - 5)).toBe(5);
    expect(desiredToken(aToken(endless), object, startMs)?.expires).toBe('never');
    expect(tokenEndsInMs(aToken(endless), startMs)).toBeUndefined();
  });

  test('an end that was shown stays, also for a replica whose clock is behind', () => {
    const status = desiredToken(aToken(declaration()), object, endsAtMs);
    const shown = { ...object, status } as ClusterRegistrationToken;
    const reasonOf = (declared: TokenDeclaration) =>
      desiredToken(aToken(declared), shown, endsAtMs - 2000)?.conditions?.[0]?.reason;
    expect(reasonOf(declaration())).toBe('Expired');
    expect(reasonOf(declaration({ expiresAtMs: endsAtMs + 60_000 }))).toBe('Usable');
  });

  test('a refused token names what would have helped', () => {
    const expired = desiredToken(aToken(declaration()), object, endsAtMs);
    const spent = desiredToken(aToken(declaration(), used(2)), object, startMs);
    expect(expired?.conditions?.[0]?.message).toContain('--ttl');
    expect(spent?.conditions?.[0]?.message).toContain('--uses');
  });

  test('a Secret that could not be made says why and what to do', () => {
    const failed = {
      state: 'failed',
      atMs: startMs,
      error: { code: 'SECRET_TAKEN', message: 'the Secret "a/b" exists' },
    } as const;
    const record = tokenRecord(
      foldRecord({ kind: 'token', id: 'one' }, [
        anEvent(tokenDeclared, declaration({ publicKey: undefined, publicationId: 'one' }), 1),
        anEvent(tokenPublishingFailed, failed, 2),
      ]),
    );
    const [condition] = desiredToken(record, object, startMs)?.conditions ?? [];
    expect(condition).toMatchObject({ status: 'False', reason: 'SecretTaken' });
    expect(condition?.message).toMatch(/^the Secret "a\/b" exists\. Remove/);
  });

  test('a Secret that is gone is a condition of its own, for as long as the token is good', () => {
    const publication = { state: 'published', publicKey: 'UKEY', atMs: startMs } as const;
    const gone = { ...publication, secretGoneAtMs: startMs + 1 };
    const conditionsWith = (told: Publication, nowMs: number) =>
      desiredToken({ ...aToken(declaration()), publication: told }, object, nowMs)?.conditions?.map(
        ({ type, status, reason }) => `${type}=${status} ${reason}`,
      );
    expect(conditionsWith(publication, startMs)).toEqual(['Ready=True Usable']);
    expect(conditionsWith(gone, startMs)).toEqual(['Ready=True Usable', 'Published=False SecretGone']);
    expect(conditionsWith(gone, endsAtMs)).toEqual(['Ready=False Expired']);
  });

  test.each([
    { name: 'before its end', nowMs: endsAtMs - 1, want: undefined },
    { name: 'at its end', nowMs: endsAtMs, want: 1000 },
    { name: 'at the end of its keeping', nowMs: endsAtMs + 1000, want: 0 },
  ])('an expired object goes, $name: in $want ms', ({ nowMs, want }) => {
    expect(tokenGoesInMs(aToken(declaration()), object, { nowMs, keptForMs: 1000 })).toBe(want);
  });
});

describe('a policy', () => {
  const object: ApprovalPolicy = {
    apiVersion: 'rollcall.dev/v1alpha1',
    kind: 'ApprovalPolicy',
    metadata,
    spec: { rules: [] },
  };
  const rules = [{ name: 'all', when: 'true', effect: 'Approve' as const }];
  const problem = { generation: 2, rule: 'all', line: 1, column: 7, message: 'no such word' };
  const declared = (more: Partial<PolicyDeclaration>): PolicyDeclaration => ({
    name: 'one',
    uid: 'uid-1',
    generation: 2,
    rules,
    withdrawn: false,
    ...more,
  });

  test.each([
    { name: 'declared as it stands', declaration: declared({}), want: 'True InForce', message: undefined },
    {
      name: 'does not compile, an older generation does',
      declaration: declared({ generation: 1, problem }),
      want: 'False CompileFailed',
      message: 'rule "all", line 1, column 7: no such word; the rules of generation 1 stay in force',
    },
    {
      name: 'never compiled',
      declaration: declared({ rules: [], problem }),
      want: 'False CompileFailed',
      message: 'rule "all", line 1, column 7: no such word; no rule is in force',
    },
    {
      name: 'changed a moment ago',
      declaration: declared({ generation: 1 }),
      want: 'Unknown NotJudged',
      message: 'the approver has not read it yet; the rules of generation 1 stay in force',
    },
    {
      name: 'a deleted one of the same name',
      declaration: declared({ uid: 'uid-0' }),
      want: 'Unknown NotJudged',
      message: 'the approver has not read it yet; no rule is in force',
    },
  ])('$name → $want', ({ declaration, want, message }) => {
    const record = foldRecord({ kind: 'policy', id: 'one' }, [anEvent(policyDeclared, declaration, 1)]);
    const status = desiredPolicy(record, object, startMs);
    const [condition] = status.conditions ?? [];
    expect(`${condition?.status} ${condition?.reason}`).toBe(want);
    expect(status.message).toBe(message);
    expect(status.observedGeneration).toBe(2);
  });
});

test('a mistake that is long to tell is told as far as a status takes it', () => {
  const problem = { generation: 2, rule: 'r', line: 1, column: 1, message: 'x'.repeat(10_000) };
  const section = { name: 'one', uid: 'uid-1', generation: 1, rules: [], withdrawn: false, problem };
  const record = foldRecord({ kind: 'policy', id: 'one' }, [anEvent(policyDeclared, section, 1)]);
  const object = { metadata, spec: { rules: [] } } as unknown as ApprovalPolicy;
  expect(desiredPolicy(record, object, startMs).message).toHaveLength(4096);
});

test('a policy shows what compiles and most likely is not meant', () => {
  const object: ApprovalPolicy = {
    apiVersion: 'rollcall.dev/v1alpha1',
    kind: 'ApprovalPolicy',
    metadata,
    spec: { rules: [] },
  };
  const statusOf = (warnings?: PolicyDeclaration['warnings']) => {
    const section = { name: 'one', uid: 'uid-1', generation: 2, rules: [], withdrawn: false, warnings };
    const record = foldRecord({ kind: 'policy', id: 'one' }, [anEvent(policyDeclared, section, 1)]);
    return desiredPolicy(record, object, startMs).conditions?.[1];
  };
  expect(statusOf()).toMatchObject({ type: 'Warning', status: 'False', reason: 'NoWarning' });
  const claims = { rule: 'a', reason: 'ApprovesOnClaims', message: 'first' };
  expect(statusOf([claims, { rule: 'b', reason: 'InvalidSet', message: 'second' }])).toMatchObject({
    type: 'Warning',
    status: 'True',
    reason: 'ApprovesOnClaims',
    message: 'first; second',
  });
});

describe('written by nobody knows whom', () => {
  const declaredObject = { plural: 'approvalpolicies', key: 'one', uid: 'uid-1', generation: 2 };
  const admission = (object: string, ...words: string[]) => {
    const section = {
      inPlace: true,
      version: 'v',
      kindUid: 'k',
      unproven: words.map((word) => ({ object, word })),
    };
    return foldRecord(admissionAggregate, [anEvent(admissionChanged, section, 1)]);
  };
  const unknownOf = (plural: string, key: string) =>
    authorUnknown(admission(`${plural}/${key}`, 'version:uid-1@2'), { ...declaredObject, plural, key });

  test('a token says so, and who makes it count', () => {
    const unknown = unknownOf('clusterregistrationtokens', 'rollcall-join/one') as AuthorUnknown;
    const object = { metadata, spec: { ttl: '1h', uses: 2 } } as ClusterRegistrationToken;
    const [condition] = statusOfUnknownAuthor(unknown, object, startMs).conditions ?? [];
    expect(condition).toMatchObject({ type: 'Ready', status: 'False', reason: 'AuthorUnknown' });
    expect(condition?.message).toContain('who may and wants it writes it again');
    expect(condition?.message).toContain(
      'kubectl get clusterregistrationtokens.rollcall.dev one -n rollcall-join -o yaml | kubectl replace',
    );
  });

  test.each([
    { name: 'that was there before', generation: 1, stays: 'the rules of generation 1 stay in force' },
    { name: 'that is new', generation: undefined, stays: 'no rule is in force' },
  ])('a policy $name says so, and what stays in force', ({ generation, stays }) => {
    const rules = [{ name: 'all', when: 'true', effect: 'Approve' as const }];
    const section = { name: 'one', uid: 'uid-1', generation, rules, withdrawn: false };
    const events = generation === undefined ? [] : [anEvent(policyDeclared, section, 1)];
    const object = { metadata, spec: { rules } } as unknown as ApprovalPolicy;
    const record = foldRecord({ kind: 'policy', id: 'one' }, events);
    const status = desiredPolicy(record, object, startMs, unknownOf('approvalpolicies', 'one'));
    expect(status.conditions?.[0]).toMatchObject({ type: 'Ready', status: 'False', reason: 'AuthorUnknown' });
    expect(status.message).toContain('who may and wants it writes it again');
    expect(status.message?.endsWith(stays)).toBe(true);
  });

  test.each([
    { name: 'the same version', version: {}, want: true },
    { name: 'a later version', version: { generation: 3 }, want: false },
    { name: 'made anew', version: { uid: 'uid-2' }, want: false },
  ])('$name: $want', ({ version, want }) => {
    const record = admission('approvalpolicies/one', 'version:uid-1@2');
    expect(authorUnknown(record, { ...declaredObject, ...version }) !== undefined).toBe(want);
  });

  test.each([
    { words: ['access:Namespace', 'changed-by:anna@2/1'], want: ['spec.access was written'] },
    {
      words: ['operation:uid/1', 'accepts:true'],
      want: ['spec.operation, spec.hubAcceptsClient was written'],
    },
    { words: ['changed-by:anna@2/1', 'leave-requested-by:anna'], want: [] },
  ])('a cluster with $words', ({ words, want }) => {
    const record = admission('managedclusters/blue', ...words);
    const unknown = wordsOfUnknownAuthor(record, { plural: 'managedclusters', name: 'blue' });
    const current = { metadata, spec: {} } as unknown as ManagedCluster;
    const shown = withUnheard({ conditions: [] }, unknown, { current, nowMs: startMs });
    expect(shown.conditions?.map(({ type, status, message }) => [type, status, message])).toEqual(
      want.map((text) => ['Heard', 'False', expect.stringContaining(text)]),
    );
    expect(isShownUnheard({ ...current, status: shown })).toBe(want.length > 0);
  });
});

describe('a set', () => {
  const fleet = [
    { 'rollcall.dev/cluster-set': 'one', region: 'eu' },
    { 'rollcall.dev/cluster-set': 'other', region: 'us' },
    { region: 'eu', tier: 'gold' },
  ];
  type Selector = ManagedClusterSet['spec']['selector'];
  const byLabels = (labelSelector: Selector['labelSelector']): Selector => ({
    type: 'LabelSelector',
    labelSelector,
  });
  const rule = (operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist', key: string, values?: string[]) =>
    byLabels({ matchExpressions: [{ key, operator, ...(values ? { values } : {}) }] });

  test.each([
    { name: 'exclusive label', selector: { type: 'ExclusiveLabel' } as Selector, want: 1 },
    { name: 'an empty selector', selector: byLabels({}), want: 3 },
    { name: 'matchLabels', selector: byLabels({ matchLabels: { region: 'eu' } }), want: 2 },
    {
      name: 'matchLabels, all of them',
      selector: byLabels({ matchLabels: { region: 'eu', tier: 'gold' } }),
      want: 1,
    },
    { name: 'In', selector: rule('In', 'region', ['us', 'ap']), want: 1 },
    { name: 'NotIn counts those without the label', selector: rule('NotIn', 'tier', ['gold']), want: 2 },
    { name: 'Exists', selector: rule('Exists', 'tier'), want: 1 },
    { name: 'DoesNotExist', selector: rule('DoesNotExist', 'region'), want: 0 },
    { name: 'Exists, of what every object has', selector: rule('Exists', 'constructor'), want: 0 },
  ])('$name: $want clusters', ({ selector, want }) => {
    const set = { metadata, spec: { selector } } as ManagedClusterSet;
    const status = desiredSet(set, { shown: fleet, isExceptionsOnly: false }, startMs);
    expect(status.clusters).toBe(want);
    expect(status.conditions?.[0]?.reason).toBe(want === 0 ? 'NoClusters' : 'HasClusters');
    const some = desiredSet(set, { shown: fleet, isExceptionsOnly: true }, startMs).conditions?.[0];
    expect(some).toMatchObject(
      want === 0 ? { status: 'Unknown', reason: 'ExceptionsOnly' } : { status: 'False' },
    );
  });

  test('whoever was put into no other set is in the one called default', () => {
    const selector = { type: 'ExclusiveLabel' };
    const set = { metadata: { ...metadata, name: 'default' }, spec: { selector } } as ManagedClusterSet;
    const shown = [...fleet, { 'rollcall.dev/cluster-set': 'default' }];
    const status = desiredSet(set, { shown, isExceptionsOnly: false }, startMs);
    expect(status.clusters).toBe(2);
    expect(status.conditions?.[0]?.message).toBe(
      'set "default" has clusters in it; it can be deleted once they are in another one',
    );
  });
});
