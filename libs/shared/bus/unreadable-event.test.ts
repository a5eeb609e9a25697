import { decodeEvent, draft, encodeEvent, nameTaken, type StoredEvent } from '@rollcall/shared/events';
import { expect, test } from 'vitest';
import { isNoConcernOf, isOvertaken } from './unreadable-event.ts';

const name = { kind: 'name', id: 'one' } as const;

/** What the registrar, which this version knows, said there. */
function takenAt(sequence: number): StoredEvent {
  const what = { reason: 'Taken', message: 'm', section: { name: 'one', clusterId: 'c', free: false } };
  const { subject, headers, body } = encodeEvent(
    draft(nameTaken, { aggregate: name, head: undefined }, what),
    {
      epoch: 1,
      source: '/rollcall/registrar',
      nowMs: 1,
      correlation: 'test',
    },
  );
  return decodeEvent({ subject, sequence, header: (key) => headers[key] ?? '', data: body });
}

test.each([
  { name: 'a version of a known type, later than that', type: 'taken', source: '', sequence: 8, want: true },
  { name: 'a version of a known type, not yet', type: 'taken', source: '', sequence: 10, want: false },
  {
    name: 'a new type of the same writer',
    type: 'lent',
    source: '/rollcall/registrar',
    sequence: 8,
    want: true,
  },
  {
    name: 'a new type of another writer',
    type: 'lent',
    source: '/rollcall/approver',
    sequence: 8,
    want: false,
  },
  {
    name: 'a new type of nobody known',
    type: 'lent',
    source: '/rollcall/librarian',
    sequence: 8,
    want: false,
  },
  {
    name: 'a known type that says another writer',
    type: 'taken',
    source: '/rollcall/approver',
    sequence: 8,
    want: true,
  },
])('its writer has spoken since: $name → $want', ({ type, source, sequence, want }) => {
  expect(isOvertaken({ ...name, type, source, sequence }, [takenAt(9)])).toBe(want);
});

const cluster = { kind: 'cluster', id: 'one', sequence: 1 } as const;
test.each([
  { name: 'a known type of liveness', type: 'ready', source: '/rollcall/approver', want: true },
  { name: 'a new type of liveness', type: 'dozing', source: '/rollcall/heartbeat', want: true },
  { name: 'a known type of hosting', type: 'hosted', source: '/rollcall/agent-host', want: true },
  { name: 'a known type of access', type: 'provisioned', source: '/rollcall/rbac-provisioner', want: true },
  { name: 'a new type of decision', type: 'paused', source: '/rollcall/approver', want: false },
  {
    name: 'a known type of decision that says it is liveness',
    type: 'denied',
    source: '/rollcall/heartbeat',
    want: false,
  },
])('no concern of the registrar: $name → $want', ({ type, source, want }) => {
  expect(isNoConcernOf('/rollcall/registrar', { ...cluster, type, source })).toBe(want);
});

test('what the reader itself has said in a newer version concerns it', () => {
  const source = '/rollcall/heartbeat';
  expect(isNoConcernOf(source, { ...cluster, type: 'dozing', source })).toBe(false);
});

test.each([
  { name: 'the registrar’s', type: 'requested', want: true },
  { name: 'the approver’s', type: 'revoked', want: false },
])('no concern of who cuts keys: $name → $want', ({ type, want }) => {
  const unreadable = { ...cluster, type, source: '/rollcall/registrar' };
  expect(isNoConcernOf('/rollcall/account-controller', unreadable)).toBe(want);
});
