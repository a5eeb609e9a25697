import { expect, test } from 'vitest';
import {
  aDecision,
  aLiveness,
  aMember,
  anAccess,
  anIdentity,
  aRecord,
  member,
} from '../tests/cluster-record.builder.ts';
import { endedFormerRegistration, debouncePhaseOf } from './registration-phase.ts';

const identity = anIdentity();

test.each([
  { name: 'asked', sections: { identity }, want: 'undecided' },
  {
    name: 'decided about an earlier request',
    sections: { identity, decision: aDecision({ requestId: 'request-0' }) },
    want: 'undecided',
  },
  { name: 'held', sections: { identity, decision: aDecision({ verdict: 'held' }) }, want: 'settled' },
  { name: 'denied', sections: { identity, decision: aDecision({ verdict: 'denied' }) }, want: 'settled' },
  { name: 'refused', sections: { identity: anIdentity({ state: 'refused' }) }, want: 'settled' },
  { name: 'approved', sections: { identity, decision: aDecision() }, want: 'joining' },
  {
    name: 'admitted, no heartbeat yet',
    sections: { identity: anIdentity(member), decision: aDecision() },
    want: 'joining',
  },
  {
    name: 'its namespace is taken',
    sections: { identity, decision: aDecision(), access: anAccess({ state: 'failed' }) },
    want: 'settled',
  },
  { name: 'joined', sections: aMember(), want: 'settled' },
  {
    name: 'unreachable',
    sections: aMember({ liveness: aLiveness({ state: 'unreachable' }) }),
    want: 'settled',
  },
  { name: 'revoked', sections: aMember({ decision: aDecision({ verdict: 'revoked' }) }), want: 'settled' },
  {
    name: 'left',
    sections: { identity: anIdentity({ state: 'left' }), decision: aDecision({ verdict: 'leaving' }) },
    want: 'settled',
  },
])('$name → $want', ({ sections, want }) => {
  expect(debouncePhaseOf(aRecord(sections))).toBe(want);
});

const deleted = { metadata: { uid: 'uid-1', deletionTimestamp: '2026-11-22T00:00:00Z' } };
const leavingUid = 'uid-1';

test.each([
  { name: 'it is in anew', sections: { identity, decision: aDecision({ leavingUid }) }, want: true },
  {
    name: 'it waits anew',
    sections: {
      identity,
      decision: aDecision({ verdict: 'held', approvedKey: undefined, leavingUid }),
      access: anAccess({ state: 'deprovisioned' }),
    },
    want: true,
  },
  {
    name: 'it was never claimed before',
    sections: {
      identity,
      decision: aDecision({ verdict: 'denied', approvedKey: undefined, leavingUid }),
    },
    want: true,
  },
  {
    name: 'another key waits in the middle of leaving',
    sections: {
      identity: anIdentity(member),
      decision: aDecision({ verdict: 'held', approvedKey: undefined, leavingUid }),
      access: anAccess(),
    },
    want: false,
  },
  {
    name: 'it leaves',
    sections: { identity, decision: aDecision({ verdict: 'leaving', approvedKey: undefined, leavingUid }) },
    want: false,
  },
  {
    name: 'it left by another object',
    sections: { identity, decision: aDecision({ leavingUid: 'uid-0' }) },
    want: false,
  },
])('an object in deletion is of a former registration: $name → $want', ({ sections, want }) => {
  expect(endedFormerRegistration(aRecord(sections), deleted)).toBe(want);
  expect(endedFormerRegistration(aRecord(sections), { metadata: { uid: 'uid-1' } })).toBe(false);
});
