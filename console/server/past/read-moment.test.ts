import { expect, test } from 'vitest';
import { readMoment } from './read-moment.ts';

const nowMs = Date.parse('2026-11-27T04:00:00Z');

test('a moment that has been, to the millisecond; none is now', () => {
  expect(readMoment('2026-11-27T04:00:00Z', nowMs)).toBe(nowMs);
  expect(readMoment('2026-11-27T03:59:59.999Z', nowMs)).toBe(nowMs - 1);
  expect(readMoment(undefined, nowMs)).toBeUndefined();
});

test.each(['', 'yesterday', '40', '2026-11-27', '2026-13-27T04:00:00Z', '2026-11-27T04:00:00.001Z'])(
  '"%s" is none',
  (text) => {
    expect(() => readMoment(text, nowMs)).toThrow(/no time like|still to come/);
  },
);
