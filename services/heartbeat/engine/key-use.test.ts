import { expect, test } from 'vitest';
import { judgeKeyUse } from './key-use.ts';

const intervalMs = 15_000;
const window = { elapsedMs: 6 * intervalMs, intervalMs };

test.each([
  { name: 'two connected, twelve beats', isDoubled: true, isShared: false, beats: 12, want: 'shared' },
  { name: 'two connected, eleven beats', isDoubled: true, isShared: false, beats: 11, want: 'shared' },
  { name: 'two connected, ten beats', isDoubled: true, isShared: false, beats: 10, want: 'as-it-was' },
  { name: 'two connected, one beats', isDoubled: true, isShared: false, beats: 6, want: 'alone' },
  {
    name: 'one connected that beats too often',
    isDoubled: false,
    isShared: false,
    beats: 60,
    want: 'as-it-was',
  },
  { name: 'shared, and one beats', isDoubled: false, isShared: true, beats: 7, want: 'single' },
  {
    name: 'shared, and one beats beside a dead one',
    isDoubled: true,
    isShared: true,
    beats: 6,
    want: 'single',
  },
  {
    name: 'shared, and one beats a little often',
    isDoubled: false,
    isShared: true,
    beats: 8,
    want: 'as-it-was',
  },
  { name: 'shared, and both beat', isDoubled: true, isShared: true, beats: 12, want: 'as-it-was' },
] as const)('in six intervals: $name → $want', ({ want, ...view }) => {
  expect(judgeKeyUse({ ...window, ...view })).toBe(want);
});

test('nothing is said before six intervals have passed', () => {
  const view = { ...window, elapsedMs: 6 * intervalMs - 1, beats: 12, isDoubled: true, isShared: false };
  expect(judgeKeyUse(view)).toBe('too-early');
});
