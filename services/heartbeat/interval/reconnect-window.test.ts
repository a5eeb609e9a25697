import { expect, test } from 'vitest';
import { wantedReturnMs } from './reconnect-window.ts';

test.each([
  { name: 'nobody there', current: undefined, clusters: 0, want: undefined },
  { name: 'a small fleet', current: undefined, clusters: 833, want: undefined },
  { name: 'one more', current: undefined, clusters: 834, want: 5000 },
  { name: 'four thousand', current: undefined, clusters: 4000, want: 20_000 },
  { name: 'ten thousand', current: 20_000, clusters: 10_000, want: 40_000 },
  { name: 'a hundred thousand', current: undefined, clusters: 100_000, want: 320_000 },
  { name: 'a million', current: 320_000, clusters: 1_000_000, want: 3_600_000 },
  { name: 'a little less than it was said for', current: 40_000, clusters: 5000, want: 40_000 },
  { name: 'much less', current: 40_000, clusters: 4500, want: 20_000 },
  { name: 'small again, from the first step', current: 5000, clusters: 10, want: 2500 },
  { name: 'a little less than the first step is for', current: 5000, clusters: 600, want: 5000 },
  { name: 'small again', current: 640_000, clusters: 10, want: 2500 },
])('$name of $clusters clusters: $current → $want', ({ current, clusters, want }) => {
  const fleet = { clusters, returnsPerSecond: 500 };
  expect(wantedReturnMs(current, fleet)).toBe(want);
  // It comes to rest at once.
  expect(wantedReturnMs(want, fleet)).toBe(want);
});
