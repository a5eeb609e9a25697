import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { repeatChecks } from './repeat-checks.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test('a check that failed comes again soon, and then less and less often, until one is well', async () => {
  const atMs: number[] = [];
  const beganMs = Date.now();
  let isWell = true;
  const checks = repeatChecks(async () => {
    atMs.push((Date.now() - beganMs) / 1000);
    return isWell;
  }, 10_000);
  await checks.now();
  isWell = false;
  await vi.advanceTimersByTimeAsync(37_000);
  expect(atMs).toEqual([0, 10, 11, 13, 17, 25, 35]);
  isWell = true;
  await vi.advanceTimersByTimeAsync(20_000);
  expect(atMs.slice(7)).toEqual([45, 55]);
  checks.stop();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(atMs).toHaveLength(9);
});

test('one between them takes the place of the next, and none comes after the end', async () => {
  let checks = 0;
  const repeated = repeatChecks(async () => ++checks > 0, 10_000);
  await repeated.now();
  await vi.advanceTimersByTimeAsync(9_000);
  const last = repeated.now();
  repeated.stop();
  await last;
  await vi.advanceTimersByTimeAsync(60_000);
  expect(checks).toBe(2);
});

test('one that is wanted while another is under way comes after it, however many times it was', async () => {
  const underWay: (() => void)[] = [];
  const check = () => new Promise<boolean>((resolve) => underWay.push(() => resolve(true)));
  const repeated = repeatChecks(check, 10_000);
  const all = [repeated.now(), repeated.now(), repeated.now()];
  await vi.advanceTimersByTimeAsync(20_000);
  expect(underWay).toHaveLength(1);
  underWay[0]?.();
  await vi.advanceTimersByTimeAsync(20_000);
  expect(underWay).toHaveLength(2);
  underWay[1]?.();
  await Promise.all(all);
  await vi.advanceTimersByTimeAsync(9_000);
  expect(underWay).toHaveLength(2);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(underWay).toHaveLength(3);
  repeated.stop();
});
