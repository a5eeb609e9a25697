import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createMinimumInterval } from './minimum-interval.ts';
import { createWriteBudget } from '../apply/write-budget.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

test('a detail waits a moment, then one interval from write to write', () => {
  const minimumInterval = createMinimumInterval({ firstAfterMs: 1000, intervalMs: 10_000 });
  expect(minimumInterval.waitMs('a')).toBe(1000);
  vi.advanceTimersByTime(999);
  expect(minimumInterval.waitMs('a')).toBe(1);
  vi.advanceTimersByTime(1);
  expect(minimumInterval.waitMs('a')).toBe(0);
  minimumInterval.wrote('a');
  vi.advanceTimersByTime(1);
  expect(minimumInterval.waitMs('a')).toBe(9999);
  vi.advanceTimersByTime(9999);
  expect(minimumInterval.waitMs('a')).toBe(0);
  expect(minimumInterval.waitMs('b')).toBe(1000);
  minimumInterval.wrote('a');
  vi.advanceTimersByTime(60_000);
  expect(minimumInterval.waitMs('a')).toBe(1000);
  minimumInterval.forget('a');
  expect(minimumInterval.waitMs('a')).toBe(1000);
});

test('a detail waits no longer where the clock of the machine is set back', () => {
  const minimumInterval = createMinimumInterval({ firstAfterMs: 1000, intervalMs: 10_000 });
  minimumInterval.wrote('a');
  vi.setSystemTime(Date.now() - 3_600_000);
  expect(minimumInterval.waitMs('a')).toBe(10_000);
});

test('no more than a second of writes at once, and then so many a second', async () => {
  const budget = createWriteBudget(10);
  let writes = 0;
  const all = Array.from({ length: 30 }, () => budget.take('fact').then(() => writes++));
  await vi.advanceTimersByTimeAsync(0);
  expect(writes).toBe(10);
  await vi.advanceTimersByTimeAsync(1000);
  expect(writes).toBe(20);
  budget.close();
  await Promise.all(all);
  expect(writes).toBe(30);
});

test('of what waits for budget, transitions go before facts, and facts before counts', async () => {
  const budget = createWriteBudget(2);
  const gone: string[] = [];
  for (const priority of ['fact', 'fact', 'count', 'fact', 'transition'] as const)
    void budget.take(priority).then(() => gone.push(priority));
  await vi.advanceTimersByTimeAsync(0);
  expect(gone).toEqual(['fact', 'fact']);
  expect(budget.waiting()).toBe(3);
  await vi.advanceTimersByTimeAsync(1500);
  expect(gone.slice(2)).toEqual(['transition', 'fact', 'count']);
  budget.close();
});
