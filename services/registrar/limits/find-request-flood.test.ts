import { expect, test } from 'vitest';
import { createFloodFinder } from './find-request-flood.ts';

/** Counts so many requests, evenly between two points in time; what was found, with the time of each. */
function send(finder: ReturnType<typeof createFloodFinder>, count: number, [fromMs, toMs]: [number, number]) {
  const found: { atMs: number; requests: number; seconds: number }[] = [];
  for (let at = 0; at < count; at++) {
    const nowMs = fromMs + ((toMs - fromMs) * at) / count;
    const flood = finder.count('K', nowMs);
    if (flood) found.push({ atMs: nowMs, ...flood });
  }
  return found;
}

test('199 beyond the budget in a second are no flood, 200 are', () => {
  expect(send(createFloodFinder(10), 199, [0, 999])).toEqual([]);
  expect(send(createFloodFinder(10), 200, [0, 0])).toEqual([{ atMs: 0, requests: 200, seconds: 0.001 }]);
});

test('who is only a little too eager for a long time does not flood', () => {
  expect(send(createFloodFinder(10), 6000, [0, 60_000])).toEqual([]);
});

test('while it goes on it is told four times a second, and it is muted until ten seconds after its end', () => {
  const finder = createFloodFinder(10);
  expect(finder.isMuted('K', 0)).toBe(false);
  const found = send(finder, 50_000, [0, 1000]);
  expect(found.map(({ atMs }) => Math.round(atMs / 250))).toEqual([0, 1, 2, 3]);
  expect(finder.isMuted('K', 10_900)).toBe(true);
  expect(finder.isMuted('K', 11_001)).toBe(false);
  expect(finder.isMuted('other', 500)).toBe(false);
});

test('of the agents that it remembers the oldest is forgotten', () => {
  const finder = createFloodFinder(2);
  for (let at = 0; at < 199; at++) finder.count('K', 0);
  finder.count('other', 0);
  finder.count('third', 0);
  expect(finder.count('K', 0)).toBeUndefined();
});
