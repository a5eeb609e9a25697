import { expect, test } from 'vitest';
import { heldSince } from './held-since.ts';

const events = [
  { type: 'hub.bulk-held', atMs: 50 },
  { type: 'cluster.revoked', atMs: 45 },
  { type: 'hub.bulk-held', atMs: 40 },
  { type: 'hub.bulk-confirmed', atMs: 30 },
  { type: 'hub.bulk-held', atMs: 20 },
];

test.each([
  { name: 'each has its own event', count: 2, want: [40, 50] },
  { name: 'the list is a moment older than the events', count: 1, want: undefined },
  { name: 'the page holds not all of them', count: 3, want: undefined },
])('$name', ({ count, want }) => {
  expect(heldSince(events, count)).toEqual(want);
});
