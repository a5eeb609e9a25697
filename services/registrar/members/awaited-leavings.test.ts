import { expect, test } from 'vitest';
import { AwaitedLeavings } from './awaited-leavings.ts';

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
