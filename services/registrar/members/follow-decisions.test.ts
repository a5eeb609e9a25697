import type { ClusterRecord, Decision, Identity } from '@rollcall/shared/events';
import { expect, test } from 'vitest';
import { admissionStep } from './follow-decisions.ts';
import { leavingLookAtMs } from './end-leaving.ts';
import { aDecision, anIdentity } from '../../../tests/harness/events.ts';
import { MemoryLog } from '../tests/memory-log.ts';

function aRecord(
  identity: Partial<Identity> | undefined,
  decision: Partial<Decision> | undefined,
  access?: ClusterRecord['access'],
): ClusterRecord {
  return {
    ...new MemoryLog().cluster('id-1'),
    identity: identity && anIdentity(identity),
    decision: decision && aDecision(decision),
    access,
  };
}
const gone: ClusterRecord['access'] = {
  state: 'deprovisioned',
  verdict: 'leaving',
  namespace: 'one',
  atMs: 1,
};
const there: ClusterRecord['access'] = { ...gone, state: 'provisioned' };
const admitted = { state: 'admitted', admittedKey: 'K' } as const;

test.each([
  { name: 'a decision without a request', record: aRecord(undefined, { approvedKey: 'K' }), want: [] },
  { name: 'a request without a decision', record: aRecord({}, undefined), want: [] },
  { name: 'a held request', record: aRecord({}, { verdict: 'held' }), want: [] },
  {
    name: 'its key is approved',
    record: aRecord({}, { verdict: 'approved', approvedKey: 'K' }),
    want: ['admitted'],
  },
  {
    name: 'it is admitted already',
    record: aRecord(admitted, { verdict: 'approved', approvedKey: 'K' }),
    want: [],
  },
  {
    name: 'a new key is approved',
    record: aRecord({ ...admitted, admittedKey: 'L' }, { approvedKey: 'K' }),
    want: ['admitted'],
  },
  {
    name: 'the owner is still in while another asks',
    record: aRecord({ ...admitted, admittedKey: 'L' }, { approvedKey: 'L' }),
    want: [],
  },
  {
    name: 'leaving, access is still there',
    record: aRecord(admitted, { verdict: 'leaving' }, there),
    want: [],
  },
  {
    name: 'leaving, access is gone',
    record: aRecord(admitted, { verdict: 'leaving' }, gone),
    want: ['left'],
  },
  {
    name: 'leaving, and what is gone is the access of an earlier epoch',
    record: aRecord(admitted, { verdict: 'leaving', requestId: 'second' }, { ...gone, requestId: 'first' }),
    want: [],
  },
  {
    name: 'leaving after a denial that took its rights: the namespace is still there',
    record: aRecord(admitted, { verdict: 'leaving' }, { ...gone, verdict: 'denied' }),
    want: [],
  },
  { name: 'denied, access is gone', record: aRecord(admitted, { verdict: 'denied' }, gone), want: [] },
  { name: 'it has left', record: aRecord({ state: 'left' }, { verdict: 'leaving' }, gone), want: [] },
])('$name → $want', ({ record, want }) => {
  const drafts = admissionStep({ record, nowMs: 7 });
  expect(drafts.map(({ definition }) => definition.type)).toEqual(want);
});

const waits = { verdict: 'leaving', leaveUntilMs: 100 } as const;
test.each([
  { name: 'the agent has time', record: aRecord(admitted, waits, gone), want: 100 },
  { name: 'so it has before access is gone', record: aRecord(admitted, waits), want: 100 },
  {
    name: 'its time is over, access is not gone',
    record: aRecord(admitted, waits),
    want: 100,
  },
  { name: 'it has left', record: aRecord({ state: 'left' }, waits, gone), want: undefined },
  { name: 'it is let in', record: aRecord(admitted, { approvedKey: 'K' }), want: undefined },
  {
    name: 'the agent has said that it is done',
    record: aRecord({ ...admitted, leave: { key: 'K', cleanedAtMs: 60 } }, waits),
    want: 0,
  },
])('when a leaving is looked at: $name → $want', ({ record, want }) => {
  expect(leavingLookAtMs({ record })).toBe(want);
});

test('who is admitted has its key and the hub’s time; who has left has no key', () => {
  const [draft] = admissionStep({ record: aRecord({}, { approvedKey: 'K' }), nowMs: 7 });
  expect(draft?.section).toMatchObject({ state: 'admitted', admittedKey: 'K', admittedAtMs: 7 });
  const [left] = admissionStep({ record: aRecord(admitted, { verdict: 'leaving' }, gone), nowMs: 7 });
  expect(left?.section).not.toHaveProperty('admittedKey');
});
