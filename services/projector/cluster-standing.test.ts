import { expect, test } from 'vitest';
import {
  aDecision,
  aLiveness,
  aMember,
  anAccess,
  anIdentity,
  aRecord,
  member,
} from './cluster-record.builder.ts';
import { phaseOf } from './cluster-standing.ts';

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
    name: 'admitted, no beat yet',
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
  expect(phaseOf(aRecord(sections))).toBe(want);
});
