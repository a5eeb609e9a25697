import type { ClusterRecord, Decision, Identity } from '@rollcall/shared/events';
import { expect, test } from 'vitest';
import { aDecision } from '../../../tests/harness/events.ts';
import { decideFlooded } from './request-flood-event.ts';
import { MemoryLog } from '../tests/memory-log.ts';

const nowMs = 2_000_000;
const yearMs = 365 * 86_400_000;

function aRecord(identity: Partial<Identity> = {}, decision?: Partial<Decision>): ClusterRecord {
  const request = { id: 'request-1', key: 'K', keyFingerprint: 'f', tokenId: 't', tokenName: 'n/t' };
  const known: Identity = {
    state: 'requested',
    clusterId: 'id-1',
    clusterName: 'one',
    clusterType: 'Standard',
    mode: 'Pull',
    request: { ...request, labels: {}, droppedLabels: [], claimed: { labels: {} }, requestedAtMs: 1 },
    ...identity,
  };
  return {
    ...new MemoryLog().cluster('id-1'),
    identity: known,
    decision: decision && aDecision(decision),
  };
}
const flood = (atMs: number, key = 'K') => ({ key, atMs, requests: 400, seconds: 1 });

test.each([
  { name: 'a key that waits', record: aRecord(), want: ['flooded'] },
  {
    name: 'the key that is in',
    record: aRecord({ state: 'admitted' }, { approvedKey: 'K' }),
    want: ['flooded'],
  },
  { name: 'a key of no cluster', record: aRecord({}, {}), key: 'stranger', want: [] },
  { name: 'a key of a cluster that left', record: aRecord({ state: 'left' }), want: [] },
  { name: 'a key that is out', record: aRecord({}, { revokedKeys: [{ key: 'K', atMs: 1 }] }), want: [] },
  { name: 'said nine minutes ago', record: aRecord({ flood: flood(nowMs - 540_000) }), want: [] },
  { name: 'said ten minutes ago', record: aRecord({ flood: flood(nowMs - 600_000) }), want: ['flooded'] },
  {
    name: 'said by a clock that was a year ahead',
    record: aRecord({ flood: flood(nowMs + yearMs) }),
    want: ['flooded'],
  },
  {
    name: 'said, and decided before by a clock that was a year ahead',
    record: aRecord({ flood: flood(nowMs - 1000) }, { decidedAtMs: nowMs + yearMs }),
    want: [],
  },
  { name: 'said of another key', record: aRecord({ flood: flood(nowMs, 'other') }), want: ['flooded'] },
  {
    name: 'said, and decided since: it was let in again',
    record: aRecord({ flood: flood(nowMs - 1000) }, { decidedAtMs: nowMs - 500 }),
    want: ['flooded'],
  },
])('$name → $want', ({ record, key = 'K', want }) => {
  const drafts = decideFlooded(record, {
    clusterId: 'id-1',
    agentKey: key,
    requests: 400,
    seconds: 2,
    nowMs,
  });
  expect(drafts.map(({ definition }) => definition.type)).toEqual(want);
});

test('it says who sent how much, and leaves the rest of the section as it was', () => {
  const record = aRecord();
  const [draft] = decideFlooded(record, {
    clusterId: 'id-1',
    agentKey: 'K',
    requests: 400,
    seconds: 2,
    nowMs,
  });
  expect(draft).toMatchObject({ reason: 'Flooding', message: '400 requests too many in 2.0 s' });
  expect(draft?.section).toEqual({
    ...record.identity,
    flood: { key: 'K', atMs: nowMs, requests: 400, seconds: 2 },
  });
});
