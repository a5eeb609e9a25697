import { expect, test } from 'vitest';
import { atOfField, atOfHandle, fieldOf, handleOf } from './moment.ts';

const nowMs = Date.parse('2026-11-27T14:00:00.500Z');

test.each([
  { seconds: 0, want: '' },
  { seconds: -10, want: '2026-11-27T13:59:50Z' },
  { seconds: -3600, want: '2026-11-27T13:00:00Z' },
])('the handle at $seconds s shows "$want", and stands there after a reload', ({ seconds, want }) => {
  expect(atOfHandle(seconds, nowMs)).toBe(want);
  expect(Math.abs(handleOf(want, nowMs) - seconds)).toBeLessThanOrEqual(1);
});

test.each([
  { name: 'long ago', at: '2026-11-20T00:00:00Z', want: -3600 },
  { name: 'a moment ago', at: '2026-11-27T14:00:00Z', want: -10 },
  { name: 'no time', at: 'yesterday', want: 0 },
])('the handle of $name stands at $want', ({ at, want }) => {
  expect(handleOf(at, nowMs)).toBe(want);
});

test('a moment that a person writes is one of this machine, and what is to come is now', () => {
  expect(atOfField(fieldOf('2026-11-20T04:05:06Z'), nowMs)).toBe('2026-11-20T04:05:06Z');
  expect([atOfField('2999-01-01T00:00', nowMs), atOfField('', nowMs), fieldOf('')]).toEqual(['', '', '']);
});
