import { expect, test } from 'vitest';
import { AwaitedLeavings } from './leaving-deadlines.ts';

test('each leaving is due at its time, once, and one that has ended is not', () => {
  const leavings = new AwaitedLeavings();
  expect(leavings.nextAtMs).toBe(Infinity);
  leavings.put('later', 30);
  leavings.put('soon', 10);
  leavings.put('gone', 5);
  leavings.end('gone');
  leavings.put('again', 10);
  leavings.put('again', 20);
  expect(leavings.nextAtMs).toBeLessThanOrEqual(10);
  expect(leavings.takeDue(9)).toEqual([]);
  expect(leavings.nextAtMs).toBe(10);
  expect(leavings.takeDue(10)).toEqual(['soon']);
  expect(leavings.nextAtMs).toBe(20);
  expect(leavings.takeDue(100)).toEqual(['later', 'again']);
  expect(leavings.nextAtMs).toBe(Infinity);
});

test('one that cannot leave is looked at ever more rarely: a dozen times in the first two hours, and then twice an hour', () => {
  const leavings = new AwaitedLeavings();
  const looks: number[] = [];
  leavings.put('stuck', 0);
  for (let nowMs = 0; nowMs < 86_400_000; nowMs += 10_000)
    for (const clusterId of leavings.takeDue(nowMs)) {
      looks.push(nowMs);
      leavings.putOff(clusterId, { nowMs, jitter: 0 });
    }
  expect(looks.slice(0, 4)).toEqual([0, 30_000, 90_000, 210_000]);
  expect(looks.filter((atMs) => atMs < 7_200_000).length).toBeLessThanOrEqual(12);
  // Each thirty seconds it would be 2,880.
  expect(looks.length).toBeLessThan(60);
});

test('a next leaving of the same cluster begins to count anew', () => {
  const leavings = new AwaitedLeavings();
  for (let look = 0; look < 9; look++) leavings.putOff('c', { nowMs: 0, jitter: 0 });
  leavings.end('c');
  leavings.putOff('c', { nowMs: 0, jitter: 0 });
  expect(leavings.takeDue(30_000)).toEqual(['c']);
});
