import type { ClusterRecord, Decision, Identity } from '@rollcall/shared/events';
import { approved, held, revoked } from '@rollcall/shared/events';
import { createNkey, type Nkey, signMessage } from '@rollcall/shared/trust';
import { expect, test } from 'vitest';
import { decideLeaveRequested, leavingSection } from './decide-leave.ts';
import { aDecision, anIdentity, aRecord, aRequest, heartbeat, nowMs } from '../tests/builders.ts';

const member = anIdentity({ state: 'admitted', admittedKey: 'K1', admittedAtMs: 1 });
const approval = { definition: approved, section: aDecision() };
const outcome = { by: { person: 'anna' }, reason: 'Leaving', message: 'm' };
const ready = { state: 'ready', key: 'K1', joinedAtMs: 1 } as ClusterRecord['liveness'];

function sectionOf(identity: Identity, previous: Decision, liveness?: ClusterRecord['liveness']) {
  const record = { ...aRecord(identity, approval), liveness };
  return leavingSection({ identity, previous, heartbeat, nowMs }, outcome, { record, waitMs: 10 });
}

test.each([
  { name: 'that is ready', liveness: ready, want: nowMs + 10 },
  { name: 'that is not there', liveness: { ...ready, state: 'unreachable' }, want: undefined },
  { name: 'whose connection was lost', liveness: { ...ready, state: 'suspect' }, want: undefined },
  { name: 'that was never seen', liveness: undefined, want: undefined },
  { name: 'of an earlier key', liveness: { ...ready, key: 'K0' }, want: undefined },
  { name: 'of an earlier registration', liveness: { ...ready, joinedAtMs: 0 }, want: undefined },
])('an agent $name is awaited until $want', ({ liveness, want }) => {
  expect(sectionOf(member, aDecision(), liveness as ClusterRecord['liveness']).leaveUntilMs).toBe(want);
});

test('every key that was ever in stays out, and the name it had stays in its history', () => {
  const previous = aDecision({ revokedKeys: [{ key: 'K0', atMs: 5 }] });
  const section = sectionOf(member, previous);
  expect(section.revokedKeys).toEqual([
    { key: 'K0', atMs: 5, left: true },
    { key: 'K1', atMs: nowMs, left: true },
  ]);
  expect(section).toMatchObject({ verdict: 'leaving', clusterName: 'alpha', namespace: 'alpha' });
  expect(section).not.toHaveProperty('approvedKey');
});

test('of former registrations the last 64 keys stay, beside all of the last week', () => {
  const dayMs = 86_400_000;
  let previous = aDecision();
  let atMs = nowMs;
  for (let life = 0; life < 1000; life++) {
    atMs += dayMs / 24;
    const key = `U${life}`;
    const identity = anIdentity({ state: 'admitted', admittedKey: key, request: aRequest({ key }) });
    const base = { identity, previous: { ...previous, approvedKey: key }, heartbeat, nowMs: atMs };
    previous = leavingSection(base, outcome, { record: aRecord(identity, approval), waitMs: 10 });
  }
  expect(previous.revokedKeys).toHaveLength(7 * 24 + 64);
  expect(previous.revokedKeys.at(0)?.key).toBe(`U${1000 - 7 * 24 - 64}`);
  expect(previous.revokedKeys.at(-1)?.key).toBe('U999');
});

test('another key that waits is none of the keys that leave', () => {
  const contested = { ...member, request: aRequest({ id: 'R2', key: 'K2' }) };
  const section = sectionOf(contested, aDecision({ verdict: 'held', approvedKey: 'K1' }));
  expect(section.revokedKeys.map(({ key }) => key)).toEqual(['K1']);
});

const [owner, other] = [createNkey('user'), createNkey('user')];
const ownerKey = owner.publicKey;
const ownersMember = anIdentity({
  request: aRequest({ key: ownerKey }),
  state: 'admitted',
  admittedKey: ownerKey,
  admittedAtMs: 1,
});
const ownersApproval = { definition: approved, section: aDecision({ key: ownerKey }) };

/** As the agent signs it. */
function asked(by: Nkey = owner, said: object = {}, key = by.publicKey): Identity['leave'] {
  const ask = { verb: 'leave', body: { clusterId: ownersMember.clusterId, done: false }, ...said };
  return { key, signedAtMs: 1, proof: { ...signMessage(ask, [by]) } };
}

test.each([
  { name: 'a member that asked', identity: { leave: asked() }, want: ['leaving'] },
  { name: 'a member that did not', identity: {}, want: [] },
  { name: 'one that has left', identity: { state: 'left' as const, leave: asked() }, want: [] },
  {
    name: 'one of which only the registrar says so',
    identity: { leave: { key: ownerKey, signedAtMs: 1 } },
    want: [],
  },
  {
    name: 'one whose request another key has signed',
    identity: { leave: asked(other, {}, ownerKey) },
    want: [],
  },
  { name: 'one that is not the signer’s', identity: { leave: asked(other) }, want: [] },
  {
    name: 'one that has signed something else',
    identity: { leave: asked(owner, { verb: 'renew' }) },
    want: [],
  },
  {
    name: 'one that has signed it of another cluster',
    identity: { leave: asked(owner, { body: { clusterId: 'another' } }) },
    want: [],
  },
])('$name → $want', ({ identity, want }) => {
  const record = aRecord({ ...ownersMember, ...identity }, ownersApproval);
  const events = decideLeaveRequested({ record, heartbeat, nowMs, leaveWaitMs: 10 });
  expect(events.map(({ definition }) => definition.type)).toEqual(want);
});

test('one whose key a person took back does not leave: it would come back as new', () => {
  const revokedKeys = [{ key: ownerKey, atMs: 1 }];
  const { approvedKey: _gone, ...rest } = aDecision({ verdict: 'revoked', key: ownerKey, revokedKeys });
  const section = { ...rest, revokedAtMs: 1 };
  const record = aRecord({ ...ownersMember, leave: asked() }, { definition: revoked, section });
  expect(decideLeaveRequested({ record, heartbeat, nowMs, leaveWaitMs: 10 })).toEqual([]);
});

test('who waits and asks to leave is out as well, and is awaited, because it is there', () => {
  const identity = anIdentity({ request: aRequest({ key: ownerKey }), leave: asked() });
  const decision = aDecision({ verdict: 'held', key: ownerKey });
  const record = aRecord(identity, { definition: held, section: decision });
  const [event] = decideLeaveRequested({ record, heartbeat, nowMs, leaveWaitMs: 10 });
  expect(event?.section).toMatchObject({
    by: { service: 'agent' },
    revokedKeys: [{ key: ownerKey, atMs: nowMs, left: true, byAgent: true }],
    leaveUntilMs: nowMs + 10,
  });
});

const former = [
  { key: 'TAKEN', atMs: 1 },
  { key: 'REPLACED', atMs: 2, rotated: true },
];
/** What is left of a mark of keys that their agent alone took back; `undefined` for the others. */
function marksAfter([draft]: ReturnType<typeof decideLeaveRequested>) {
  const { revokedKeys } = (draft?.section ?? {}) as Decision;
  return Object.fromEntries(
    revokedKeys.map(({ key, rotated, byAgent }) => [
      key === ownerKey ? 'OWN' : key,
      rotated ? 'rotated' : byAgent ? 'by agent' : 'firm',
    ]),
  );
}

test.each([
  {
    name: 'it leaves by itself',
    previous: {},
    want: { TAKEN: 'firm', REPLACED: 'rotated', OWN: 'by agent' },
  },
  {
    name: 'a person wanted its key replaced',
    previous: { rotationRequest: { key: ownerKey, atMs: 1 } },
    want: { TAKEN: 'firm', REPLACED: 'rotated', OWN: 'firm' },
  },
  {
    name: 'a person wanted the one replaced that it is just leaving behind',
    previous: { retiringKey: 'OLD', rotationRequest: { key: 'OLD', atMs: 1 } },
    want: { TAKEN: 'firm', REPLACED: 'rotated', OWN: 'by agent', OLD: 'firm' },
  },
])('which keys make room on a full list: $name', ({ previous, want }) => {
  const decision = aDecision({ key: ownerKey, approvedKey: ownerKey, revokedKeys: former, ...previous });
  const record = aRecord({ ...ownersMember, leave: asked() }, { definition: approved, section: decision });
  expect(marksAfter(decideLeaveRequested({ record, heartbeat, nowMs, leaveWaitMs: 10 }))).toEqual(want);
});

test('a person who takes a cluster out takes back every key of it, also those that its agent gave up', () => {
  const gaveUp = [...former, { key: 'LEFT', atMs: 3, left: true, byAgent: true }];
  const { revokedKeys } = sectionOf(member, aDecision({ revokedKeys: gaveUp }));
  expect(revokedKeys).toHaveLength(4);
  expect(revokedKeys.some((taken) => 'byAgent' in taken || 'rotated' in taken)).toBe(false);
});
