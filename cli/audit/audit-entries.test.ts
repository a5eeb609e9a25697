import { approved, requested, type StoredEvent } from '@rollcall/shared/events';
import { expect, test } from 'vitest';
import { auditEntry, type AuditFilter, newMemory } from './audit-entries.ts';

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
  section: { clusterName: 'edge-1', namespace: 'edge-1' },
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
  anEvent({ type: 'revoked', sequence: 4, by: { policy: 'p' }, section: {}, timeMs: 2000 }),
  anEvent({
    kind: 'token',
    id: 't1',
    type: 'declared',
    sequence: 5,
    by: undefined,
    section: { namespace: 'rollcall-join', name: 'first' },
  }),
];

test.each<{ name: string; filter: AuditFilter; want: number[] }>([
  { name: 'everything about trust, and nothing about liveness', filter: {}, want: [2, 4, 5] },
  { name: 'one cluster', filter: { clusterId: 'c1' }, want: [2, 4] },
  { name: 'a token, with the clusters that came by it', filter: { token: 'first' }, want: [2, 4, 5] },
  { name: 'a token by its whole name', filter: { token: 'rollcall-join/first' }, want: [2, 4, 5] },
  { name: 'a token of another namespace', filter: { token: 'other/first' }, want: [] },
  { name: 'a person', filter: { person: 'alice' }, want: [2] },
  { name: 'since exactly then', filter: { fromMs: 2000 }, want: [4] },
])('audit: $name', ({ filter, want }) => {
  const memory = newMemory();
  const found = history.flatMap((event) => auditEntry(event, memory, filter) ?? []);
  expect(found.map(({ sequence }) => sequence)).toEqual(want);
});

test('later events have the name that an earlier one said', () => {
  const memory = newMemory();
  const found = history.flatMap((event) => auditEntry(event, memory, {}) ?? []);
  expect(found.map(({ about }) => about)).toEqual(['edge-1', 'edge-1', 'rollcall-join/first']);
});
