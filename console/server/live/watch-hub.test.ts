import { expect, test } from 'vitest';
import { readFrom } from './watch-hub.ts';

test.each([
  { name: 'of a short history everything', next: undefined, last: 40, want: 1 },
  { name: 'of a long one its end', next: undefined, last: 10_000, want: 9501 },
  { name: 'of an empty one what comes', next: undefined, last: 0, want: 1 },
  { name: 'after a break what was not read yet', next: 901, last: 1000, want: 901 },
  { name: 'of one that was put back to an older state what comes', next: 1001, last: 400, want: 401 },
])('$name', ({ next, last, want }) => {
  expect(readFrom(next, last)).toBe(want);
});
