import { expect, test } from 'vitest';
import { beforeText, whenText } from './when.ts';

const nowMs = Date.parse('2026-11-27T12:00:00Z');
const hourMs = 3600_000;

test.each([
  { name: 'now', ms: 0, want: 'just now' },
  { name: 'a clock that is behind', ms: 1999, want: 'just now' },
  { name: 'two seconds ago', ms: -2000, want: '2 s ago' },
  { name: 'a minute ago', ms: -60_000, want: '1 min ago' },
  { name: 'an hour ago', ms: -hourMs, want: '1 h ago' },
  { name: 'two days ago', ms: -48 * hourMs, want: '2 days ago' },
  { name: 'to come', ms: 23 * hourMs, want: 'in 23 h' },
])('$name: $want', ({ ms, want }) => {
  expect(whenText(nowMs + ms, nowMs)).toBe(want);
});

test('what is seen from a moment that was is before that moment', () => {
  expect(beforeText(nowMs - 35_000, nowMs)).toBe('35 s before');
  expect(beforeText(nowMs, nowMs)).toBe('just then');
});
