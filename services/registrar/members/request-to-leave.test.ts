import { clusterRecord, type Decision, type Identity } from '@rollcall/shared/events';
import { expect, test } from 'vitest';
import { aDecision, anIdentity } from '../../../tests/harness/events.ts';
import { admissionStep } from './follow-decisions.ts';
import { judgeReturning } from '../callout/callout-verdict.ts';
import { judgeLeave } from './request-to-leave.ts';
import { keyStatusOf } from '../replies/key-status.ts';
import { MemoryLog } from '../tests/memory-log.ts';

const identity = anIdentity({ state: 'admitted', admittedKey: 'K', admittedAtMs: 1 });
const { admittedKey: _nobody, ...nobodysIdentity } = identity;
const strangers = { ...identity, request: { ...identity.request, key: 'S' } };
const approved: Partial<Decision> = { verdict: 'approved', approvedKey: 'K', key: 'K' };
const leaving: Partial<Decision> = {
  verdict: 'leaving',
  key: 'K',
  requestId: 'request-1',
  leaveUntilMs: 100,
  revokedKeys: [{ key: 'K', atMs: 1, left: true }],
};

function aRecord(about: { identity?: Identity; decision: Partial<Decision>; isGone?: boolean }) {
  const empty = clusterRecord(new MemoryLog().read({ kind: 'cluster', id: 'id-1' }));
  const access = {
    state: 'deprovisioned',
    verdict: 'leaving',
    namespace: 'one',
    requestId: 'request-1',
    atMs: 1,
  } as const;
  return {
    ...empty,
    identity: about.identity ?? identity,
    decision: aDecision(about.decision),
    ...(about.isGone ? { access } : {}),
  };
}
const asked = { ...identity, leave: { key: 'K', signedAtMs: 3 } };
const cleaned = { ...identity, leave: { key: 'K', cleanedAtMs: 3 } };

test.each([
  { name: 'the owner asks', record: aRecord({ decision: approved }), want: ['leave-requested'] },
  { name: 'the owner asks again', record: aRecord({ identity: asked, decision: approved }), want: [] },
  { name: 'a stranger asks', key: 'S', record: aRecord({ decision: approved }), want: [] },
  {
    name: 'a stranger whose request is open asks',
    key: 'S',
    record: aRecord({ identity: strangers, decision: { ...approved, verdict: 'held' } }),
    want: [],
  },
  {
    name: 'the owner asks while a stranger is held',
    record: aRecord({ identity: strangers, decision: { ...approved, verdict: 'held' } }),
    want: ['leave-requested'],
  },
  {
    name: 'who waits asks',
    record: aRecord({ identity: { ...nobodysIdentity, state: 'requested' }, decision: { verdict: 'held' } }),
    want: ['leave-requested'],
  },
  {
    name: 'a member says that it is done',
    done: true,
    record: aRecord({ decision: approved }),
    want: ['leave-requested'],
  },
  { name: 'one that leaves asks', record: aRecord({ decision: leaving }), want: [] },
  { name: 'one that leaves is done', done: true, record: aRecord({ decision: leaving }), want: ['cleaned'] },
  {
    name: 'it says so again',
    done: true,
    record: aRecord({ identity: cleaned, decision: leaving }),
    want: [],
  },
  { name: 'a stranger says so', key: 'S', done: true, record: aRecord({ decision: leaving }), want: [] },
  {
    name: 'it has left',
    done: true,
    record: aRecord({ identity: { ...identity, state: 'left' }, decision: leaving }),
    want: [],
  },
])('$name → $want', ({ record, want, key = 'K', done = false }) => {
  const drafts = judgeLeave(
    { agentKey: key, done, proof: { signed: '', signatures: {} } },
    { record, nowMs: 7 },
  );
  expect(drafts.map(({ definition }) => definition.type)).toEqual(want);
});

test('of what was signed only the signature of its own key is kept', () => {
  const proof = { signed: 's', signatures: { K: 'own', S: 'of a stranger' } };
  const [drafted] = judgeLeave(
    { agentKey: 'K', done: false, proof },
    { record: aRecord({ decision: approved }), nowMs: 7 },
  );
  expect(drafted?.section).toHaveProperty('leave.proof', { signed: 's', signatures: { K: 'own' } });
});

test.each([
  { name: 'the agent has time', decision: leaving, nowMs: 99, want: [] },
  { name: 'its time ends exactly now', decision: leaving, nowMs: 100, want: ['left'] },
  { name: 'it has cleaned up', identity: cleaned, decision: leaving, nowMs: 5, want: ['left'] },
  { name: 'a person forced it', decision: { ...leaving, forced: true }, nowMs: 5, want: ['left'] },
  { name: 'its access is there', decision: leaving, isGone: false, nowMs: 500, want: [] },
])('leaving, $name → $want', ({ decision, want, nowMs, identity: who = identity, isGone = true }) => {
  const drafts = admissionStep({ record: aRecord({ identity: who, decision, isGone }), nowMs });
  expect(drafts.map(({ definition }) => definition.type)).toEqual(want);
});

const nextRegistration = aRecord({
  identity: { ...strangers, admittedKey: 'S' },
  decision: { ...approved, approvedKey: 'S', key: 'S', revokedKeys: [{ key: 'K', atMs: 1, left: true }] },
});
test.each([
  { name: 'leaving', record: aRecord({ decision: leaving }), want: 'leaving' },
  { name: 'cleaned up', record: aRecord({ identity: cleaned, decision: leaving }), want: 'CLUSTER_LEFT' },
  {
    name: 'left',
    record: aRecord({ identity: { ...nobodysIdentity, state: 'left' }, decision: leaving }),
    want: 'CLUSTER_LEFT',
  },
  { name: 'come back with another key', record: nextRegistration, want: 'CLUSTER_LEFT' },
])('the old key of a cluster that is $name → $want', ({ record, want }) => {
  const status = keyStatusOf(record, 'K');
  expect(status.kind === 'refused' ? status.refusal.code : status.kind).toBe(want);
  // It is let in to hear so, and no further.
  const claim = { nkey: 'K', sig: 's', user: undefined, pass: undefined, name: 'id-1', nonce: 'n' };
  const checks = { isProven: () => true, isMemberBeforeRestore: () => false };
  expect(judgeReturning(claim, record, checks)).toMatchObject({ kind: 'admit', role: 'returning' });
  expect(judgeReturning(claim, record, { ...checks, isProven: () => false })).toMatchObject({
    reason: 'KeyNotProven',
  });
});
