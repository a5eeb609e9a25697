import { expect, test } from 'vitest';
import { quantile, spreadOf } from './quantile.ts';

test.each([
  { q: 0, want: 1 },
  { q: 0.5, want: 3 },
  { q: 0.99, want: 5 },
  { q: 1, want: 5 },
])('quantile $q of five values is one of them', ({ q, want }) => {
  expect(quantile([5, 1, 4, 2, 3], q)).toBe(want);
});

test('of two values the median is the smaller one', () => {
  expect(quantile([10, 2], 0.5)).toBe(2);
});

test('no values have no quantile', () => {
  expect(quantile([], 0.5)).toBeNaN();
});

test('a spread is least, median and p99', () => {
  expect(spreadOf([3, 1, 2])).toEqual({ least: 1, p50: 2, p99: 3 });
});
