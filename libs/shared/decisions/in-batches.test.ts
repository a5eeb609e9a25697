import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { inBatches } from './in-batches.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

test('the first goes at once, those that come soon after go together, and who comes later goes at once again', async () => {
  const turn = inBatches(() => 1000);
  const gone: string[] = [];
  const go = async (name: string) => {
    await turn();
    gone.push(name);
  };
  void go('first');
  await vi.advanceTimersByTimeAsync(0);
  expect(gone).toEqual(['first']);
  void go('second');
  await vi.advanceTimersByTimeAsync(600);
  void go('third');
  await vi.advanceTimersByTimeAsync(399);
  expect(gone).toEqual(['first']);
  await vi.advanceTimersByTimeAsync(1);
  expect(gone).toEqual(['first', 'second', 'third']);
  await vi.advanceTimersByTimeAsync(1000);
  void go('fourth');
  await vi.advanceTimersByTimeAsync(0);
  expect(gone).toEqual(['first', 'second', 'third', 'fourth']);
});
