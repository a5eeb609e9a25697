import { approved, type StoredEvent } from '@rollcall/shared/events';
import { expect, test } from 'vitest';
import { cloudEvent, liveCloudEvent } from './cloud-event.ts';
import { causeText, eventLine, liveLine } from './event-line.ts';

const anEvent = (change: Partial<StoredEvent> = {}): StoredEvent => ({
  kind: 'cluster',
  id: '5b1c9a52-0000-0000-0000-000000000000',
  type: 'approved',
  definition: approved,
  eventId: 'e1',
  sequence: 42,
  timeMs: Date.parse('2026-11-21T12:00:00.123Z'),
  source: '/rollcall/approver',
  traceparent: undefined,
  digest: 'sha256:00',
  epoch: 1,
  previous: { sequence: 41, digest: 'sha256:01' },
  correlation: 'ask-1',
  by: { policy: 'default', rule: 'valid-token' },
  reason: 'PolicyApproved',
  message: 'the token is valid',
  section: { clusterName: 'edge-1' },
  ...change,
});

test('a line says when, what, who, by whom and why', () => {
  expect(eventLine(anEvent(), { hasColour: false, clusterName: 'edge-1' })).toBe(
    '2026-11-21T12:00:00.123Z  cluster.approved          edge-1 (5b1c9a52)           by policy default/valid-token, PolicyApproved: the token is valid',
  );
});

test('what an agent wrote cannot move the cursor, with or without colours', () => {
  const event = anEvent({ message: 'x\u001b[2J\u009b1A\ny' });
  expect(eventLine(event, { hasColour: false })).toMatch(/: x\[2J1A y$/);
  expect(eventLine(event, { hasColour: true }).split('\u001b[2J')).toHaveLength(1);
});

test.each([
  { by: undefined, want: '' },
  { by: { person: 'alice' }, want: 'by alice' },
  { by: { policy: 'p' }, want: 'by policy p' },
  { by: { service: 'heartbeat' }, want: '' },
])('$by is shown as "$want"', ({ by, want }) => {
  expect(causeText(by)).toBe(want);
});

test('live lines are marked', () => {
  const live = { clusterId: 'c1', state: 'connection-lost', reason: 'ConnectionLost', atMs: 0 };
  expect(liveLine(live, { hasColour: false, clusterName: 'edge-1' })).toContain('live connection-lost');
  expect(liveCloudEvent(live)).toMatchObject({ type: 'dev.rollcall.live.v1', subject: 'c1' });
});

test('a wide line also says which event it is, who wrote it and what it belongs to', () => {
  expect(eventLine(anEvent(), { hasColour: false, isWide: true })).toContain(
    '[42 approver ask-1] by policy default/valid-token',
  );
});

test('for programs it is a CloudEvent', () => {
  expect(cloudEvent(anEvent())).toMatchObject({
    specversion: '1.0',
    id: 'e1',
    source: '/rollcall/approver',
    type: 'dev.rollcall.cluster.approved.v1',
    sequence: '42',
    data: { reason: 'PolicyApproved', section: { clusterName: 'edge-1' } },
  });
});
