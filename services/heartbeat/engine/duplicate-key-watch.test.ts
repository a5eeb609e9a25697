import { expect, test } from 'vitest';
import { judgeKeyUse } from './duplicate-key-watch.ts';

const intervalMs = 15_000;
const window = { elapsedMs: 6 * intervalMs, intervalMs };

test.each([
  {
    name: 'two connected, twelve heartbeats',
    isDoubled: true,
    isShared: false,
    heartbeats: 12,
    want: 'shared',
  },
  {
    name: 'two connected, eleven heartbeats',
    isDoubled: true,
    isShared: false,
    heartbeats: 11,
    want: 'shared',
  },
  {
    name: 'two connected, ten heartbeats',
    isDoubled: true,
    isShared: false,
    heartbeats: 10,
    want: 'as-it-was',
  },
  {
    name: 'two connected, one sends heartbeats',
    isDoubled: true,
    isShared: false,
    heartbeats: 6,
    want: 'alone',
  },
  {
    name: 'one connected that sends heartbeats too often',
    isDoubled: false,
    isShared: false,
    heartbeats: 60,
    want: 'as-it-was',
  },
  {
    name: 'shared, and one sends heartbeats',
    isDoubled: false,
    isShared: true,
    heartbeats: 7,
    want: 'single',
  },
  {
    name: 'shared, and one sends heartbeats beside a dead one',
    isDoubled: true,
    isShared: true,
    heartbeats: 6,
    want: 'single',
  },
  {
    name: 'shared, and one sends heartbeats a little often',
    isDoubled: false,
    isShared: true,
    heartbeats: 8,
    want: 'as-it-was',
  },
  {
    name: 'shared, and both send heartbeats',
    isDoubled: true,
    isShared: true,
    heartbeats: 12,
    want: 'as-it-was',
  },
] as const)('in six intervals: $name → $want', ({ want, ...view }) => {
  expect(judgeKeyUse({ ...window, ...view })).toBe(want);
});

test('nothing is said before six intervals have passed', () => {
  const view = { ...window, elapsedMs: 6 * intervalMs - 1, heartbeats: 12, isDoubled: true, isShared: false };
  expect(judgeKeyUse(view)).toBe('too-early');
});
