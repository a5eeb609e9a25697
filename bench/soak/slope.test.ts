import fc from 'fast-check';
import { expect, test } from 'vitest';
import { lastThirds, type Point, slopePerHour } from './slope.ts';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

/** One point a minute over an hour; killed every ten minutes where that is said. */
const points = (valueAt: (minute: number, age: number) => number, isKilled = false): Point[] =>
  Array.from({ length: 60 }, (_, minute) => {
    const life = isKilled ? Math.floor(minute / 10) : 0;
    const age = isKilled ? minute % 10 : minute;
    return { atMs: minute * minuteMs, life, value: valueAt(minute, age) };
  });

test('what stays the same has no slope, also where it goes up and down around it', () => {
  expect(slopePerHour(points(() => 100))).toBe(0);
  expect(Math.abs(slopePerHour(points((minute) => 100 + (minute % 2))))).toBeLessThan(0.001);
});

test('a leak of 2 % an hour is 2 % an hour, whatever one point says', () => {
  const leaking = points((minute) => (minute === 30 ? 900 : 100 + (2 * minute) / 60));
  expect(slopePerHour(leaking)).toBeCloseTo(0.02, 2);
});

test('a process that grows into its work after each kill has no slope', () => {
  expect(slopePerHour(points((_, age) => 100 + 10 * Math.min(age, 5), true))).toBe(0);
});

test('one whose every life begins with more has', () => {
  expect(
    slopePerHour(points((minute, age) => 100 + 10 * Math.min(age, 5) + minute / 10, true)),
  ).toBeGreaterThan(0.03);
});

test('a line through all points has the slope of the line', () => {
  fc.assert(
    fc.property(fc.double({ min: -5, max: 5, noNaN: true }), (perHour) => {
      const value = (minute: number) => 1000 + (perHour * minute) / 60;
      const median = value(29);
      expect(slopePerHour(points(value))).toBeCloseTo(perHour / median, 6);
    }),
  );
});

test('the medians of the middle third and the last', () => {
  const values = points((minute) => (minute < 20 ? 1 : minute < 40 ? 100 : 110));
  expect(lastThirds(values, hourMs)).toEqual({ before: 100, after: 110 });
  expect(lastThirds(values.slice(0, 10), hourMs)).toEqual({ before: Number.NaN, after: Number.NaN });
});
