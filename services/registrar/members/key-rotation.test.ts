import {
  clusterRecord,
  type Decision,
  foldRecord,
  type Identity,
  isSafeId,
  keyAggregate,
  type KeyRecord,
} from '@rollcall/shared/events';
import { createNkey, keyFingerprint, type Nkey, signMessage } from '@rollcall/shared/trust';
import { expect, test } from 'vitest';
import { aDecision, anIdentity } from '../../../tests/harness/events.ts';
import { admissionStep } from './follow-decisions.ts';
import { decideRotated, judgeRotation } from './key-rotation.ts';
import { MemoryLog } from '../tests/memory-log.ts';

const [old, next, stranger] = [createNkey('user'), createNkey('user'), createNkey('user')];
const [K, N, S] = [old.publicKey, next.publicKey, stranger.publicKey];
const nowMs = 10_000_000;
const yearMs = 365 * 86_400_000;

const request = {
  ...anIdentity().request,
  key: K,
  keyFingerprint: keyFingerprint(K),
  labels: { env: 'test' },
};
const identity = anIdentity({
  state: 'admitted',
  admittedKey: K,
  admittedAtMs: 1,
  member: { issuer: 'https://member', subject: 'system:serviceaccount:a:b', keys: [{ kid: '1', kty: 'EC' }] },
  request,
});
const approved: Partial<Decision> = { verdict: 'approved', approvedKey: K, key: K, requestId: 'request-1' };
const rotation = { from: K, proof: { ...signMessage({}, [old, next]) } };
const rotating = { ...identity, request: { ...request, id: 'request-2', key: N, rotation } };
const isIn = { ...approved, approvedKey: N, key: N, requestId: 'request-2', retiringKey: K };

function aRecord(about: { identity?: Identity; decision?: Partial<Decision> } = {}) {
  const empty = clusterRecord(new MemoryLog().read({ kind: 'cluster', id: 'id-1' }));
  return { ...empty, identity: about.identity ?? identity, decision: aDecision(about.decision ?? approved) };
}

function asked(by: Nkey, to: string, signers: readonly Nkey[]) {
  const proof = signMessage({ verb: 'rotate', body: { clusterId: 'id-1', newKey: to } }, signers);
  return { id: 'request-2', agentKey: by.publicKey, newKey: to, signedAtMs: nowMs, proof };
}
const replaced = (count: number, atMs: number) =>
  Array.from({ length: count }, (_, index) => ({ key: `U${index}`, atMs }));
const fromOldToNext = asked(old, N, [old, next]);

const keyOf = (holder: string | undefined): KeyRecord => ({
  ...foldRecord(keyAggregate(N), []),
  holder,
});

test.each([
  { name: 'the key that is in names its successor', want: 'requested' },
  { name: 'it asks again before it is decided', record: aRecord({ identity: rotating }), want: 'nothing' },
  {
    name: 'it asks again when the new key is in',
    record: aRecord({ identity: rotating, decision: isIn }),
    want: 'nothing',
  },
  { name: 'the new key did not sign', attempt: asked(old, N, [old]), want: 'PROOF_INVALID' },
  { name: 'to the key of somebody else', attempt: asked(old, S, [old, next]), want: 'PROOF_INVALID' },
  { name: 'to itself', attempt: asked(old, K, [old]), want: 'PROOF_INVALID' },
  { name: 'a key that is not in', attempt: asked(stranger, N, [stranger, next]), want: 'TOKEN_UNKNOWN' },
  {
    name: 'the former key, to a third one, while the new one takes over',
    record: aRecord({ identity: rotating, decision: isIn }),
    attempt: asked(old, S, [old, stranger]),
    want: 'TOKEN_UNKNOWN',
  },
  {
    name: 'the new key, before the former one is out',
    record: aRecord({ identity: { ...rotating, admittedKey: N }, decision: isIn }),
    attempt: asked(next, S, [next, stranger]),
    want: 'HUB_BUSY',
  },
  {
    name: 'a key that was replaced 24 times within a day',
    record: aRecord({ decision: { ...approved, revokedKeys: replaced(24, nowMs) } }),
    want: 'HUB_BUSY',
  },
  {
    name: 'a key that was replaced 24 times within a day, once a person wants it',
    record: aRecord({
      decision: { ...approved, revokedKeys: replaced(24, nowMs), rotationRequest: { key: K, atMs: nowMs } },
    }),
    want: 'requested',
  },
  {
    name: 'a key that was replaced 24 times the day before',
    record: aRecord({ decision: { ...approved, revokedKeys: replaced(24, nowMs - 86_400_000) } }),
    want: 'requested',
  },
  {
    name: 'a key that was replaced 24 times within a day, by a clock that was ahead',
    record: aRecord({ decision: { ...approved, revokedKeys: replaced(24, nowMs + yearMs) } }),
    want: 'requested',
  },
  {
    name: 'the new key, asked for by a clock that was ahead',
    record: aRecord({
      identity: {
        ...rotating,
        admittedKey: N,
        request: { ...rotating.request, requestedAtMs: nowMs + yearMs },
      },
      decision: { ...approved, approvedKey: N, key: N, requestId: 'request-2' },
    }),
    attempt: asked(next, S, [next, stranger]),
    want: 'requested',
  },
  {
    name: 'the new key, within a minute',
    record: aRecord({
      identity: {
        ...rotating,
        admittedKey: N,
        request: { ...rotating.request, requestedAtMs: nowMs - 59_999 },
      },
      decision: { ...approved, approvedKey: N, key: N, requestId: 'request-2' },
    }),
    attempt: asked(next, S, [next, stranger]),
    want: 'HUB_BUSY',
  },
  {
    name: 'the new key, a minute later',
    record: aRecord({
      identity: {
        ...rotating,
        admittedKey: N,
        request: { ...rotating.request, requestedAtMs: nowMs - 60_000 },
      },
      decision: { ...approved, approvedKey: N, key: N, requestId: 'request-2' },
    }),
    attempt: asked(next, S, [next, stranger]),
    want: 'requested',
  },
  {
    name: 'to a key that was taken back',
    record: aRecord({ decision: { ...approved, revokedKeys: [{ key: N, atMs: 1 }] } }),
    want: 'CLUSTER_REVOKED',
  },
  {
    name: 'a stranger with a valid token waits for a person',
    record: aRecord({
      identity: { ...identity, request: { ...request, id: 'request-9', key: S } },
      decision: { ...approved, verdict: 'held', key: S, requestId: 'request-9' },
    }),
    want: 'requested',
  },
  {
    name: 'the reinstalled agent of this very member waits for a person',
    record: aRecord({
      identity: {
        ...identity,
        request: { ...request, id: 'request-9', key: S, member: { sameMember: true } },
      },
      decision: { ...approved, verdict: 'held', key: S, requestId: 'request-9' },
    }),
    want: 'REQUEST_OPEN',
  },
  {
    name: 'the cluster is banned',
    record: aRecord({ decision: { verdict: 'banned', key: K, revokedKeys: [{ key: K, atMs: 1 }] } }),
    want: 'CLUSTER_BANNED',
  },
  {
    name: 'the cluster leaves',
    record: aRecord({
      decision: { verdict: 'leaving', key: K, revokedKeys: [{ key: K, atMs: 1, left: true }] },
    }),
    want: 'TOKEN_UNKNOWN',
  },
  { name: 'the new key belongs to another cluster', newKey: keyOf('other'), want: 'KEY_TAKEN' },
  { name: 'the new key is asked for again', newKey: keyOf(identity.clusterId), want: 'requested' },
  { name: 'the place for events is nearly full', isFull: true, want: 'HUB_FULL' },
  { name: 'all members together have had as many as they may', areMany: true, want: 'HUB_BUSY' },
  {
    name: 'they have, and a person wants another key',
    areMany: true,
    record: aRecord({ decision: { ...approved, rotationRequest: { key: K, atMs: 1 } } }),
    want: 'requested',
  },
  {
    name: 'it is, and a person wants another key',
    isFull: true,
    record: aRecord({ decision: { ...approved, rotationRequest: { key: K, atMs: 1 } } }),
    want: 'requested',
  },
])(
  '$name → $want',
  ({
    record = aRecord(),
    attempt = fromOldToNext,
    newKey = keyOf(undefined),
    isFull = false,
    areMany = false,
    want,
  }) => {
    const { drafts, refusal } = judgeRotation(attempt, { record, newKey, nowMs, isFull, areMany });
    expect(refusal?.code ?? drafts[0]?.definition.type ?? 'nothing').toBe(want);
  },
);

test('the request says from which key, and the owner stays who it is until that is decided', () => {
  const [draft] = judgeRotation(fromOldToNext, {
    record: aRecord(),
    newKey: keyOf(undefined),
    nowMs,
    isFull: false,
  }).drafts;
  expect(draft?.section).toMatchObject({
    admittedKey: K,
    admittedAtMs: 1,
    request: { key: N, tokenName: 'n/t', rotation: { from: K } },
  });
});

test('of the signatures only those of both keys are kept', () => {
  const many = asked(old, N, [old, next, stranger]);
  const context = { record: aRecord(), newKey: keyOf(undefined), nowMs, isFull: false };
  const [draft] = judgeRotation(many, context).drafts;
  const { [K]: byOld, [N]: byNext } = many.proof.signatures;
  expect(draft?.section).toHaveProperty('request.rotation.proof.signatures', { [K]: byOld, [N]: byNext });
});

test('of the request of another key nothing is taken over', () => {
  const denied = { ...identity, request: { ...request, id: 'request-9', key: S } };
  const decision = { ...approved, verdict: 'denied' as const, key: S, requestId: 'request-9' };
  const [draft] = judgeRotation(fromOldToNext, {
    record: aRecord({ identity: denied, decision }),
    newKey: keyOf(undefined),
    nowMs,
    isFull: false,
  }).drafts;
  expect(draft?.section).toMatchObject({ request: { key: N, tokenName: '', labels: {} } });
});

test('the new key is admitted in place of the former one: liveness and pin stay', () => {
  const [draft] = admissionStep({ record: aRecord({ identity: rotating, decision: isIn }), nowMs });
  expect(draft?.section).toMatchObject({
    admittedKey: N,
    admittedAtMs: 1,
    rotatedFrom: K,
    member: identity.member,
  });
});

test.each([
  { name: 'the new key renews', by: N, identity: { rotatedFrom: K }, want: ['rotated'] },
  { name: 'again', by: N, identity: { rotatedFrom: K, rotatedAtMs: 1 }, want: [] },
  { name: 'the former key', by: K, identity: { rotatedFrom: K }, want: [] },
  { name: 'it was not a rotation', by: N, identity: {}, want: [] },
])('$name → $want', ({ by, identity: more, want }) => {
  const record = aRecord({ identity: { ...rotating, admittedKey: N, ...more }, decision: isIn });
  expect(decideRotated({ record, nowMs }, by).map(({ definition }) => definition.type)).toEqual(want);
});

test('a key that came after a stranger was denied names its successor by no token, in a word that events can be read by', () => {
  const strangers = { ...request, key: S, tokenId: 'ut9' };
  const record = aRecord({ identity: { ...identity, request: strangers } });
  const context = { record, newKey: keyOf(undefined), nowMs, isFull: false };
  const [asks] = judgeRotation(fromOldToNext, context).drafts;
  const successor = (asks?.section as Identity | undefined)?.request;
  expect([successor?.tokenId, isSafeId(successor?.tokenId ?? '')]).toEqual(['none', true]);
});
