import { clusterRecord, type Decision, type Identity } from '@rollcall/shared/events';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { keyStatusOf } from './key-status.ts';
import { aDecision, anIdentity } from '../../../tests/harness/events.ts';
import { MemoryLog } from '../tests/memory-log.ts';

const identity = anIdentity({ request: { ...anIdentity().request, id: 'request-2' } });

function aRecord(overrides: Partial<Identity> | undefined, decision?: Partial<Decision>) {
  const empty = clusterRecord(new MemoryLog().read({ kind: 'cluster', id: 'id-1' }));
  return {
    ...empty,
    identity: overrides && { ...identity, ...overrides },
    decision: decision && aDecision(decision),
  };
}
const aboutIt = { requestId: 'request-2', key: 'K' };

test.each([
  { name: 'nothing is known', record: aRecord(undefined), want: 'unknown' },
  { name: 'it has left', record: aRecord({ state: 'left' }, { approvedKey: 'K' }), want: 'unknown' },
  { name: 'it was refused before any decision', record: aRecord({ state: 'refused' }), want: 'unknown' },
  { name: 'nothing is decided', record: aRecord({}), want: 'waiting' },
  { name: 'it is held', record: aRecord({}, { ...aboutIt, verdict: 'held' }), want: 'waiting' },
  {
    name: 'it is approved',
    record: aRecord({}, { ...aboutIt, verdict: 'approved', approvedKey: 'K' }),
    want: 'member',
  },
  {
    name: 'approved in word but no key is in',
    record: aRecord({}, { ...aboutIt, verdict: 'approved' }),
    want: 'waiting',
  },
  {
    name: 'another key is in',
    record: aRecord({}, { ...aboutIt, verdict: 'approved', approvedKey: 'L' }),
    want: 'waiting',
  },
  {
    name: 'another key asks, it is the owner',
    record: aRecord({ request: { ...identity.request, key: 'L' } }, { verdict: 'held', approvedKey: 'K' }),
    want: 'member',
  },
  {
    name: 'another key asks, it was taken back',
    record: aRecord({ request: { ...identity.request, key: 'L' } }, { revokedKeys: [{ key: 'K', atMs: 1 }] }),
    want: 'CLUSTER_REVOKED',
  },
  {
    name: 'another key asks, it is nobody',
    record: aRecord({ request: { ...identity.request, key: 'L' } }),
    want: 'unknown',
  },
  { name: 'denied', record: aRecord({}, { ...aboutIt, verdict: 'denied' }), want: 'CLUSTER_DENIED' },
  { name: 'banned', record: aRecord({}, { ...aboutIt, verdict: 'banned' }), want: 'CLUSTER_BANNED' },
  { name: 'revoked', record: aRecord({}, { ...aboutIt, verdict: 'revoked' }), want: 'CLUSTER_REVOKED' },
  { name: 'leaving', record: aRecord({}, { ...aboutIt, verdict: 'leaving' }), want: 'CLUSTER_REVOKED' },
  {
    name: 'an older request was denied',
    record: aRecord({}, { requestId: 'request-1', key: 'K', verdict: 'denied' }),
    want: 'waiting',
  },
])('$name → $want', ({ record, want }) => {
  const status = keyStatusOf(record, 'K');
  expect(status.kind === 'refused' ? status.refusal.code : status.kind).toBe(want);
});

test('a key is a member only by the approver’s own word for this very key', () => {
  const key = fc.constantFrom('K', 'L', 'M');
  const verdicts = ['approved', 'held', 'denied', 'revoked', 'banned', 'leaving', 'predefined'] as const;
  const states = ['requested', 'refused', 'admitted', 'left'] as const;
  fc.assert(
    fc.property(
      fc.record({
        state: fc.constantFrom(...states),
        admittedKey: fc.option(key, { nil: undefined }),
        requestKey: key,
        verdict: fc.constantFrom(...verdicts),
        approvedKey: fc.option(key, { nil: undefined }),
        asking: key,
      }),
      ({ state, admittedKey, requestKey, verdict, approvedKey, asking }) => {
        const overrides = { state, admittedKey, request: { ...identity.request, key: requestKey } };
        const status = keyStatusOf(aRecord(overrides, { ...aboutIt, verdict, approvedKey }), asking);
        expect(status.kind === 'member' && approvedKey !== asking).toBe(false);
      },
    ),
  );
});
