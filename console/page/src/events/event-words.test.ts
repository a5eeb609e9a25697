import { expect, test } from 'vitest';
import type { EventRow } from '../../../rows/index.ts';
import { eventFilter, titleOf, whyOf } from './event-words.ts';

const event: EventRow = {
  sequence: 7,
  atMs: 0,
  type: 'cluster.approved',
  id: 'f80d0352',
  name: 'edge-1',
  person: 'alice',
  writer: 'approver',
  reason: 'PersonApproved',
  message: 'alice approves: known since Monday',
};
const { sequence: _none, ...rest } = event;
const heard: EventRow = { ...rest, type: 'live.suspect' };

test.each([
  { query: '', of: event },
  { query: 'type:approved', of: event },
  { query: 'type:cluster.approved person:alice', of: event },
  { query: 'cluster:edge-1 monday', of: event },
  { query: 'cluster:f80d0352', of: event },
  { query: 'is:live', of: heard },
])('"$query" finds it', ({ query, of }) => {
  expect(eventFilter(query)(of)).toBe(true);
});

test.each([
  { query: 'type:denied', of: event },
  { query: 'person:bob', of: event },
  { query: 'cluster:edge', of: event },
  { query: 'rule:default', of: event },
  { query: 'is:live', of: event },
  { query: 'is:kept', of: heard },
])('"$query" does not', ({ query, of }) => {
  expect(eventFilter(query)(of)).toBe(false);
});

test('a type is said as people say it, and a reason that only repeats it is left out', () => {
  expect(titleOf('cluster.provisioning-failed')).toBe('Provisioning failed');
  expect(titleOf('hub.outage')).toBe('Hub outage');
  expect(whyOf({ type: 'cluster.admitted', reason: 'Admitted', message: 'credentials were issued' })).toBe(
    'credentials were issued',
  );
  expect(whyOf(event)).toBe('PersonApproved: alice approves: known since Monday');
});
