import { expect, test } from 'vitest';
import { sinceMs } from '../terminal/point-in-time.ts';
import { eventFilter } from './event-filter.ts';

const nowMs = Date.parse('2026-11-21T12:00:00Z');

test.each([
  { name: 'everything', options: {}, want: '*.*.*' },
  { name: 'one cluster', options: { clusterId: 'c1' }, want: 'cluster.c1.*' },
  { name: 'one type of any kind', options: { types: ['declared'] }, want: '*.*.declared' },
  { name: 'one type of one kind', options: { types: ['token.used'] }, want: 'token.*.used' },
  {
    name: 'one type of one cluster',
    options: { clusterId: 'c1', types: ['approved'] },
    want: 'cluster.c1.approved',
  },
  { name: 'several types are chosen here', options: { types: ['approved,denied'] }, want: '*.*.*' },
])('the stream is asked for $want: $name', ({ options, want }) => {
  expect(eventFilter({ ...options, nowMs }).subject).toBe(want);
});

test('of several types only those are shown, each of its kind', () => {
  const filter = eventFilter({ types: ['approved', 'token.declared'], nowMs });
  const shown = [
    ['cluster', 'approved'],
    ['token', 'declared'],
    ['policy', 'declared'],
    ['cluster', 'denied'],
  ] as const;
  expect(shown.map(([kind, type]) => filter.matches({ kind, type, timeMs: nowMs }))).toEqual([
    true,
    true,
    false,
    false,
  ]);
});

test('an event of exactly then is not older', () => {
  const filter = eventFilter({ since: '1h', nowMs });
  const at = (timeMs: number) => filter.matches({ kind: 'cluster', type: 'ready', timeMs });
  expect([at(nowMs - 3_600_001), at(nowMs - 3_600_000)]).toEqual([false, true]);
});

test('a time is taken as it is', () => {
  expect(sinceMs('2026-11-21T11:00:00Z', nowMs)).toBe(nowMs - 3_600_000);
});

test.each([
  { types: ['frobnicated'] },
  { types: ['token.approved'] },
  { types: ['a.b.c'] },
  { since: 'yesterday' },
  { since: '45' },
  { since: 'last week 3' },
])('%j is refused', (options) => {
  expect(() => eventFilter({ ...options, nowMs })).toThrow(expect.objectContaining({ code: 'USAGE' }));
});
