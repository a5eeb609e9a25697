import { expect, test } from 'vitest';
import { createKeptOut } from './kept-out.ts';

test('ten seconds at first, twice as long each time that it begins again, never more than a minute', () => {
  const keptOut = createKeptOut(10);
  let nowMs = 0;
  const terms: number[] = [];
  for (let time = 0; time < 5; time++) {
    keptOut.put('K', nowMs);
    const fromMs = nowMs;
    while (keptOut.has('K', nowMs)) nowMs += 1000;
    terms.push((nowMs - fromMs) / 1000);
  }
  expect(terms).toEqual([10, 20, 40, 60, 60]);
});

test('the same flood told twice makes it no longer', () => {
  const keptOut = createKeptOut(10);
  keptOut.put('K', 0);
  keptOut.put('K', 9999);
  expect(keptOut.has('K', 10_000)).toBe(false);
});

test('after ten quiet minutes it begins anew, and nobody else is concerned', () => {
  const keptOut = createKeptOut(10);
  keptOut.put('K', 0);
  keptOut.put('K', 610_000);
  expect(keptOut.has('K', 619_999)).toBe(true);
  expect(keptOut.has('K', 620_000)).toBe(false);
  expect(keptOut.has('other', 1)).toBe(false);
});

test('more than it remembers push out the oldest', () => {
  const keptOut = createKeptOut(2);
  for (const name of ['one', 'two', 'three']) keptOut.put(name, 0);
  expect(['one', 'two', 'three'].map((name) => keptOut.has(name, 1))).toEqual([false, true, true]);
});
