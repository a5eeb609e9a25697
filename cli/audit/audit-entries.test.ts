import { approved, eventCatalogue, requested, type StoredEvent, bulkHeld } from '@rollcall/shared/events';
import { keyFingerprint } from '@rollcall/shared/trust';
import { expect, test } from 'vitest';
import { auditEntry, type AuditFilter, newMemory, trustEvents } from './audit-entries.ts';
import { fingerprintOf } from './keys-in-event.ts';

const anEvent = (change: Partial<StoredEvent>): StoredEvent => ({
  kind: 'cluster',
  id: 'c1',
  type: 'approved',
  definition: approved,
  eventId: 'e',
  sequence: 2,
  timeMs: 1000,
  source: '/rollcall/approver',
  traceparent: undefined,
  digest: 'sha256:00',
  epoch: 1,
  previous: undefined,
  correlation: 'ask',
  by: { person: 'alice' },
  reason: 'PersonApproved',
  message: 'known',
  section: { clusterName: 'edge-1', namespace: 'edge-1', key: 'K1', approvedKey: 'K1' },
  ...change,
});

const history = [
  anEvent({
    type: 'requested',
    definition: requested,
    sequence: 1,
    section: { clusterName: 'edge-1', request: { tokenName: 'rollcall-join/first' } },
  }),
  anEvent({}),
  anEvent({ type: 'ready', sequence: 3, section: {} }),
  anEvent({
    type: 'revoked',
    sequence: 4,
    by: { policy: 'p' },
    section: { revokedKeys: [{ key: 'K1', atMs: 1 }] },
    timeMs: 2000,
  }),
  anEvent({
    kind: 'token',
    id: 't1',
    type: 'declared',
    sequence: 5,
    by: undefined,
    section: { namespace: 'rollcall-join', name: 'first', publicKey: 'T1' },
  }),
  anEvent({
    type: 'held',
    sequence: 6,
    by: { service: 'approver' },
    section: { key: 'K2', revokedKeys: [{ key: 'K1', atMs: 1 }] },
    timeMs: 1000,
  }),
  anEvent({
    kind: 'hub',
    id: 'operations',
    type: 'bulk-held',
    definition: bulkHeld,
    sequence: 7,
    by: { service: 'approver' },
    section: { held: { id: 'w', limit: 5, operations: [{ clusterId: 'c1', person: 'bob' }] } },
    timeMs: 1000,
  }),
];

test.each<{ name: string; filter: AuditFilter; want: number[] }>([
  { name: 'everything about trust, and nothing about liveness', filter: {}, want: [2, 4, 5, 6, 7] },
  { name: 'one cluster, and masses that have it in them', filter: { clusterId: 'c1' }, want: [2, 4, 6, 7] },
  { name: 'a token, with the clusters that came by it', filter: { token: 'first' }, want: [2, 4, 5, 6] },
  { name: 'a token by its whole name', filter: { token: 'rollcall-join/first' }, want: [2, 4, 5, 6] },
  { name: 'a token of another namespace', filter: { token: 'other/first' }, want: [] },
  { name: 'a person', filter: { person: 'alice' }, want: [2] },
  { name: 'a person whose operation is held in a bulk change', filter: { person: 'bob' }, want: [7] },
  { name: 'a key, let in and put out once', filter: { key: keyFingerprint('K1') }, want: [2, 4] },
  { name: 'the key that asks later', filter: { key: keyFingerprint('K2') }, want: [6] },
  { name: 'the key of a token', filter: { key: keyFingerprint('T1') }, want: [5] },
  { name: 'since exactly then', filter: { fromMs: 2000 }, want: [4] },
])('audit: $name', ({ filter, want }) => {
  const memory = newMemory();
  const found = history.flatMap((event) => auditEntry(event, memory, filter) ?? []);
  expect(found.map(({ sequence }) => sequence)).toEqual(want);
});

test('later events have the name that an earlier one said', () => {
  const memory = newMemory();
  const found = history.flatMap((event) => auditEntry(event, memory, {}) ?? []);
  expect(found.map(({ about }) => about)).toEqual([
    'edge-1',
    'edge-1',
    'rollcall-join/first',
    'edge-1',
    'operations',
  ]);
});

/** Nobody may do more or less by these: they report, count, or come in one batch with one that is in the audit. */
const notOfTrust = new Set([
  'cluster.requested',
  'cluster.provisioning-failed',
  'cluster.hosting-failed',
  'cluster.joined',
  'cluster.ready',
  'cluster.suspect',
  'cluster.unreachable',
  'cluster.stopped',
  'cluster.member-down',
  'cluster.flapping',
  'cluster.key-shared',
  'cluster.key-unshared',
  'cluster.flooding',
  'cluster.flooded',
  'token.publishing-failed',
  'token.unpublished',
  'key.taken',
  'name.taken',
  'name.reserved',
  'name.released',
  'hub.counted',
  'hub.spent-noted',
  'hub.bulk-counted',
  'hub.outage',
  'hub.interval-changed',
  'hub.outage-ended',
  // The rest of restore-reviewed, which is.
  'hub.spent-noted',
]);

test('of every event there is it was decided whether it is in the audit', () => {
  const all = eventCatalogue.map(({ kind, type }) => `${kind}.${type}`);
  expect(all.toSorted()).toEqual([...trustEvents, ...notOfTrust].toSorted());
});

test.each(['1f2e-3d4c-5b6a-7988', '1F2E3D4C5B6A7988'])('the fingerprint %s is understood', (text) => {
  expect(fingerprintOf(text)).toBe('1f2e-3d4c-5b6a-7988');
});

test.each(['', '1f2e', '1f2e-3d4c-5b6a-798g', 'edge-1'])('%j is no fingerprint', (text) => {
  expect(() => fingerprintOf(text)).toThrow('is no fingerprint');
});
