import { expect, test } from 'vitest';
import { isRecent } from './clocks-differ.ts';

test.each([
  { name: 'just now', agoMs: 0, want: true },
  { name: 'a moment before it is long ago', agoMs: 599_999, want: true },
  { name: 'long ago', agoMs: 600_000, want: false },
  { name: 'by a clock that is a little ahead', agoMs: -60_000, want: true },
  { name: 'by a clock that was wrong', agoMs: -60_001, want: false },
  { name: 'never', agoMs: Infinity, want: false },
])('$name: $want', ({ agoMs, want }) => {
  const nowMs = 1_000_000;
  expect(isRecent(nowMs - agoMs, { nowMs, withinMs: 600_000 })).toBe(want);
});
